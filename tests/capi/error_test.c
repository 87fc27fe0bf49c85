/* How failures and options cross: sizes of structs, cut messages, names of codes. */
#include <stdio.h>

#include "support/contract.h"

static void an_error_has_512_bytes(void** state) {
    (void)state;
    assert_int_equal(sizeof(tutti_error), 512);
    assert_int_equal(sizeof(tutti_buffer), 64);
    assert_int_equal(offsetof(tutti_error, message), 16);
}

static void init_does_what_the_macro_does(void** state) {
    (void)state;
    const tutti_error wanted = TUTTI_ERROR_INIT;
    tutti_error made;
    memset(&made, 0xff, sizeof made);
    tutti_error_init(&made, sizeof made);
    assert_memory_equal(&made, &wanted, sizeof made);
    tutti_error_init(NULL, sizeof made);
}

static void init_stays_within_the_size_of_the_caller(void** state) {
    (void)state;
    unsigned char memory[sizeof(tutti_error)];
    for (size_t size = 0; size <= sizeof memory; ++size) {
        memset(memory, 0xff, sizeof memory);
        tutti_error_init((tutti_error*)(void*)memory, size);
        uint32_t written;
        memcpy(&written, memory, sizeof written);
        assert_int_equal(written, size < 16 ? UINT32_MAX : size);
        for (size_t i = size; i < sizeof memory; ++i) assert_int_equal(memory[i], 0xff);
    }
}

static void init_writes_no_more_than_an_error(void** state) {
    (void)state;
    static unsigned char memory[8192];
    const size_t sizes[] = {513, 4096, 8192, SIZE_MAX};
    size_t i, at;
    for (i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        memset(memory, 0xff, sizeof memory);
        tutti_error_init((tutti_error*)(void*)memory, sizes[i]);
        assert_int_equal(((tutti_error*)(void*)memory)->struct_size, sizeof(tutti_error));
        for (at = sizeof(tutti_error); at < sizeof memory; ++at) {
            assert_int_equal(memory[at], 0xff);
        }
    }
}

static void every_code_has_a_name(void** state) {
    (void)state;
    assert_string_equal(tutti_status_name(TUTTI_OK), "TUTTI_OK");
    assert_string_equal(tutti_status_name(TUTTI_ERR_INTERNAL), "TUTTI_ERR_INTERNAL");
    assert_string_equal(tutti_status_name(TUTTI_ERR_PENDING), "TUTTI_ERR_PENDING");
    for (tutti_status code = TUTTI_OK; code <= TUTTI_ERR_PENDING; ++code) {
        assert_string_not_equal(tutti_status_name(code), "TUTTI_ERR_UNKNOWN");
        for (tutti_status other = TUTTI_OK; other < code; ++other) {
            assert_string_not_equal(tutti_status_name(code), tutti_status_name(other));
        }
    }
    assert_string_equal(tutti_status_name(TUTTI_ERR_PENDING + 1), "TUTTI_ERR_UNKNOWN");
    assert_string_equal(tutti_status_name(-1), "TUTTI_ERR_UNKNOWN");
}

static void a_failure_names_the_function_and_the_argument(void** state) {
    (void)state;
    EXPECT_ERROR(tutti_store_set(NULL, "key", NULL, 0, &error), TUTTI_ERR_INVALID_HANDLE,
                 "tutti_store_set: store is NULL");
    assert_int_equal(error.rank, -1);
    assert_int_equal(error.system_errno, 0);
}

static void an_error_that_is_all_zero_is_filled(void** state) {
    (void)state;
    tutti_error zero;
    memset(&zero, 0, sizeof zero);
    assert_int_equal(tutti_store_set(NULL, "key", NULL, 0, &zero), TUTTI_ERR_INVALID_HANDLE);
    assert_int_equal(zero.status, TUTTI_ERR_INVALID_HANDLE);
    assert_int_equal(zero.rank, -1);
    assert_string_equal(zero.message, "tutti_store_set: store is NULL");
}

static void a_success_leaves_the_error_alone(void** state) {
    (void)state;
    tutti_error before, after;
    memset(&before, 0x5a, sizeof before);
    after = before;
    tutti_store* store;
    assert_int_equal(tutti_hash_store_create(&store, &after), TUTTI_OK);
    assert_memory_equal(&after, &before, sizeof after);
    tutti_store_release(store);
}

static void no_error_struct_is_needed(void** state) {
    (void)state;
    assert_int_equal(tutti_hash_store_create(NULL, NULL), TUTTI_ERR_INVALID_ARGUMENT);
}

/* A file name of two-byte characters, so that a message must be cut between them. */
static tutti_status fail_at_length(tutti_error* to) {
    static char path[2000];
    for (size_t i = 0; i + 2 < sizeof path; i += 2) memcpy(path + i, "\xc3\xa9", 2);
    tutti_store* store = NULL;
    const tutti_status status = tutti_file_store_create(path, 1, NULL, &store, to);
    assert_null(store);
    return status;
}

static void a_message_is_cut_within_struct_size_and_between_characters(void** state) {
    (void)state;
    unsigned char memory[sizeof(tutti_error) + 8];
    for (uint32_t size = 0; size <= sizeof memory; ++size) {
        memset(memory, 0x7f, sizeof memory);
        memcpy(memory, &size, sizeof size);
        const tutti_status status = fail_at_length((tutti_error*)(void*)memory);
        assert_int_not_equal(status, TUTTI_OK);
        const size_t end = size == 0                    ? sizeof(tutti_error)
                           : size < 16                  ? 4
                           : size < sizeof(tutti_error) ? size
                                                        : sizeof(tutti_error);
        for (size_t i = end; i < sizeof memory; ++i) assert_int_equal(memory[i], 0x7f);
        if (size > 0 && size <= 16) continue;
        const char* message = (const char*)memory + 16;
        const size_t length = strnlen(message, end - 16);
        assert_true(length < end - 16 && length + 3 > end - 16);
        const int lead_cut_off = length > 0 && (unsigned char)message[length - 1] == 0xc3;
        assert_false(lead_cut_off);
    }
}

static void options_of_an_older_caller_are_taken(void** state) {
    (void)state;
    struct {
        uint32_t struct_size, no_wait_for_workers;
        int64_t timeout_ms;
    } older = {sizeof older, 1, 0};
    tutti_store* store = NULL;
    EXPECT_OK(tutti_tcp_store_create(
        "localhost", 0, 2, 1, (const tutti_tcp_store_options*)(void*)&older, &store, &error));
    tutti_store_release(store);
}

static tutti_status create_with(const void* options) {
    tutti_store* store = NULL;
    const tutti_status status = tutti_tcp_store_create(
        "localhost", 0, -1, 1, (const tutti_tcp_store_options*)options, &store, &error);
    tutti_store_release(store);
    return status;
}

static void options_of_a_newer_caller_may_only_ask_for_what_is_known(void** state) {
    (void)state;
    struct {
        tutti_tcp_store_options known;
        uint64_t of_the_future;
    } newer = {TUTTI_TCP_STORE_OPTIONS_INIT, 0};
    newer.known.struct_size = sizeof newer;
    EXPECT_OK(create_with(&newer));
    newer.of_the_future = 1;
    EXPECT_ERROR(create_with(&newer), TUTTI_ERR_INVALID_ARGUMENT, "does not know");
}

static void options_that_were_not_initialised_are_refused(void** state) {
    (void)state;
    tutti_tcp_store_options options = TUTTI_TCP_STORE_OPTIONS_INIT;
    options.struct_size = 0;
    EXPECT_ERROR(create_with(&options), TUTTI_ERR_INVALID_ARGUMENT, "options.struct_size is 0");
    options.struct_size = 3;
    EXPECT_ERROR(create_with(&options), TUTTI_ERR_INVALID_ARGUMENT, "options.struct_size is 3");
    options.struct_size = 0xdeadbeef;
    EXPECT_ERROR(create_with(&options), TUTTI_ERR_INVALID_ARGUMENT, "options.struct_size is 3735");
    tutti_tcp_store_options_init(&options, sizeof options);
    options.timeout_ms = -2;
    EXPECT_ERROR(create_with(&options), TUTTI_ERR_INVALID_ARGUMENT, "options.timeout_ms is -2");
    tutti_tcp_store_options_init(&options, sizeof options);
    options.no_wait_for_workers = 2;
    EXPECT_ERROR(create_with(&options), TUTTI_ERR_INVALID_ARGUMENT, "options.no_wait_for_workers");
}

static void options_init_does_what_the_macros_do(void** state) {
    (void)state;
    const tutti_call_options call = TUTTI_CALL_OPTIONS_INIT;
    const tutti_group_options group = TUTTI_GROUP_OPTIONS_INIT;
    const tutti_tcp_store_options tcp = TUTTI_TCP_STORE_OPTIONS_INIT;
    unsigned char memory[128];
    memset(memory, 0xff, sizeof memory);
    tutti_call_options_init((tutti_call_options*)(void*)memory, sizeof call);
    assert_memory_equal(memory, &call, sizeof call);
    assert_int_equal(memory[sizeof call], 0xff);
    memset(memory, 0xff, sizeof memory);
    tutti_group_options_init((tutti_group_options*)(void*)memory, sizeof group);
    assert_memory_equal(memory, &group, sizeof group);
    assert_int_equal(memory[sizeof group], 0xff);
    memset(memory, 0xff, sizeof memory);
    tutti_tcp_store_options_init((tutti_tcp_store_options*)(void*)memory, sizeof tcp);
    assert_memory_equal(memory, &tcp, sizeof tcp);
    assert_int_equal(memory[sizeof tcp], 0xff);
    /* The size of an older caller, of none, and no memory at all. */
    memset(memory, 0xff, sizeof memory);
    tutti_call_options_init((tutti_call_options*)(void*)memory, 8);
    assert_int_equal(memory[0], 8);
    assert_int_equal(memory[7], 0);
    assert_int_equal(memory[8], 0xff);
    tutti_call_options_init((tutti_call_options*)(void*)memory, 3);
    assert_int_equal(memory[0], 8);
    tutti_call_options_init(NULL, sizeof call);
    tutti_group_options_init(NULL, sizeof group);
    tutti_tcp_store_options_init(NULL, sizeof tcp);
}

static void options_of_stores_are_initialised_as_the_macros_do(void** state) {
    (void)state;
    const tutti_store_options store = TUTTI_STORE_OPTIONS_INIT;
    const tutti_store_call_options call = TUTTI_STORE_CALL_OPTIONS_INIT;
    unsigned char memory[64];
    memset(memory, 0xff, sizeof memory);
    tutti_store_options_init((tutti_store_options*)(void*)memory, sizeof store);
    assert_memory_equal(memory, &store, sizeof store);
    assert_int_equal(memory[sizeof store], 0xff);
    memset(memory, 0xff, sizeof memory);
    tutti_store_call_options_init((tutti_store_call_options*)(void*)memory, sizeof call);
    assert_memory_equal(memory, &call, sizeof call);
    assert_int_equal(memory[sizeof call], 0xff);
    tutti_store_options_init(NULL, sizeof store);
    tutti_store_call_options_init(NULL, sizeof call);
}

/* How many bytes it writes, and in `size` the struct_size it leaves, in memory of 0xff. */
static size_t written_by_init(size_t given, uint32_t* size) {
    static unsigned char memory[1024];
    size_t end = sizeof memory;
    memset(memory, 0xff, sizeof memory);
    tutti_call_options_init((tutti_call_options*)(void*)memory, given);
    while (end > 0 && memory[end - 1] == 0xff) --end;
    memcpy(size, memory, sizeof *size);
    return end;
}

static void options_init_believes_no_impossible_size(void** state) {
    (void)state;
    const size_t impossible[] = {4, 7, 257, 4096, 5000, SIZE_MAX};
    uint32_t size = 1;
    size_t i;
    for (i = 0; i < sizeof impossible / sizeof *impossible; ++i) {
        assert_int_equal(written_by_init(impossible[i], &size), sizeof size);
        assert_int_equal(size, 0);
    }
    assert_int_equal(written_by_init(3, &size), 0);
    assert_int_equal(written_by_init(0, &size), 0);
    /* A caller that is newer than the library. */
    assert_int_equal(written_by_init(256, &size), 256);
    assert_int_equal(size, 256);
    tutti_tcp_store_options options = TUTTI_TCP_STORE_OPTIONS_INIT;
    tutti_tcp_store_options_init(&options, 257);
    EXPECT_ERROR(create_with(&options), TUTTI_ERR_INVALID_ARGUMENT, "options.struct_size is 0");
    options.struct_size = 257;
    EXPECT_ERROR(create_with(&options), TUTTI_ERR_INVALID_ARGUMENT, "options.struct_size is 257");
    options.struct_size = 7;
    EXPECT_ERROR(create_with(&options), TUTTI_ERR_INVALID_ARGUMENT, "options.struct_size is 7");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(an_error_has_512_bytes),
        TEST(init_does_what_the_macro_does),
        TEST(init_stays_within_the_size_of_the_caller),
        TEST(init_writes_no_more_than_an_error),
        TEST(every_code_has_a_name),
        TEST(a_failure_names_the_function_and_the_argument),
        TEST(an_error_that_is_all_zero_is_filled),
        TEST(a_success_leaves_the_error_alone),
        TEST(no_error_struct_is_needed),
        TEST(a_message_is_cut_within_struct_size_and_between_characters),
        TEST(options_of_an_older_caller_are_taken),
        TEST(options_of_a_newer_caller_may_only_ask_for_what_is_known),
        TEST(options_that_were_not_initialised_are_refused),
        TEST(options_init_does_what_the_macros_do),
        TEST(options_of_stores_are_initialised_as_the_macros_do),
        TEST(options_init_believes_no_impossible_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
