/* Every struct that has a struct_size, with every size, in every function that reads it. The table
 * of calls and sizes is made from the headers, and from the library's lines of sizes_of, by
 * handle_calls.awk. */
#include <stdio.h>
#include <stdlib.h>

#include <tutti/ext.h>

#include "arguments.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define END_OF(type, field) (offsetof(type, field) + sizeof(((type*)0)->field))

typedef struct sized_struct {
    const char* name;
    size_t size;
    const size_t* sizes; /* that versions had */
    size_t size_count;
    const size_t* ends; /* of its fields */
    size_t end_count;
} sized_struct;

typedef struct sized_call {
    const char* function;
    const char* argument;
    const sized_struct* of;
    tutti_status (*with)(void* given);
} sized_call;

/* Arguments that are read before a struct. */
static tutti_group* collecting;

static tutti_status gather(const void* input, void* output, size_t size, void* user,
                           tutti_error* failure) {
    (void)user, (void)failure;
    memcpy(output, input, size);
    return TUTTI_OK;
}

static tutti_status reduce(const void* in, void* inout, int64_t count, tutti_dtype dtype,
                           void* user, tutti_error* failure) {
    (void)in, (void)inout, (void)count, (void)dtype, (void)user, (void)failure;
    return TUTTI_OK;
}

#include "struct_calls.h"

enum {
    /* A number that no field of an options struct may be, so that a call whose struct is accepted
     * ends before it does something. */
    NONSENSE = 0xee,
    MOST_OPTIONS = 256
};

static int is_table(const sized_call* call) {
    return strstr(call->of->name, "_table") != NULL;
}

static int a_version_had(const sized_struct* of, size_t size) {
    for (size_t i = 0; i < of->size_count; ++i) {
        if (of->sizes[i] == size) return 1;
    }
    return 0;
}

static int a_version_may_have(const sized_call* call, size_t size) {
    if (a_version_had(call->of, size)) return 1;
    if (size <= call->of->size) return 0;
    return is_table(call) ? size % sizeof(void*) == 0 && size <= 4096 : size <= MOST_OPTIONS;
}

/* In memory of just that size, where a sanitizer sees who reads or writes further. */
static tutti_status call_with(const sized_call* call, uint32_t size, size_t memory, int tail) {
    const size_t bytes = memory < 8 ? 8 : memory, known = call->of->size;
    const uint32_t version = TUTTI_EXT_VERSION;
    unsigned char* given = (unsigned char*)malloc(bytes);
    memset(given, is_table(call) ? 0 : NONSENSE, bytes);
    if (bytes > known) memset(given + known, tail, bytes - known);
    if (is_table(call)) memcpy(given + 4, &version, sizeof version);
    memcpy(given, &size, sizeof size);
    const tutti_status status = call->with(given);
    free(given);
    return status;
}

static int says(const char* piece, size_t size) {
    char words[64];
    (void)snprintf(words, sizeof words, "%s%zu", piece, size);
    for (const char* at = error.message; (at = strstr(at, words)) != NULL; ++at) {
        if (strspn(at + strlen(words), "0123456789") == 0) return 1;
    }
    return 0;
}

static int is_refused(const sized_call* call, tutti_status status, size_t size) {
    if (status != (is_table(call) ? TUTTI_ERR_UNSUPPORTED : TUTTI_ERR_INVALID_ARGUMENT)) return 0;
    if (strncmp(error.message, call->function, strlen(call->function)) != 0) return 0;
    if (strstr(error.message, call->of->name) == NULL) return 0;
    if (!says("struct_size is ", size) && !says("struct_size of ", size)) return 0;
    for (size_t i = 0; i < call->of->size_count; ++i) {
        if (!says(i == 0 ? " has " : " ", call->of->sizes[i])) return 0;
    }
    return memcmp(&out, &untouched, sizeof out) == 0;
}

static int is_right(const sized_call* call, uint32_t size, size_t memory, int tail) {
    const tutti_status status = call_with(call, size, memory, tail);
    const int unknown = strstr(error.message, "does not know") != NULL;
    const int reads_tail =
        strstr(call->of->name, "_options") != NULL || strcmp(call->of->name, "tutti_hooks") == 0;
    int right = is_refused(call, status, size);
    if (a_version_may_have(call, size)) {
        right = strstr(error.message, "struct_size") == NULL &&
                unknown == (reads_tail && size > call->of->size && tail != 0);
    }
    if (right) return 1;
    print_error("%s, a %s of %u bytes as its `%s`, %d behind: status %d: %s\n", call->function,
                call->of->name, size, call->argument, tail, status, error.message);
    return 0;
}

static void only_sizes_that_a_version_had_are_accepted(void** state) {
    const uint32_t others[] = {257, 4097, 5000, 0x7fffffff, 0xdeadbeef, UINT32_MAX};
    int failures = 0;
    (void)state;
    for (size_t i = 0; i < COUNT(sized_calls); ++i) {
        const sized_call* call = &sized_calls[i];
        const size_t known = call->of->size;
        int right = is_right(call, MOST_OPTIONS, MOST_OPTIONS, 0);
        for (uint32_t size = 0; right && size <= known + 8; ++size) {
            right = is_right(call, size, size, 0) && is_right(call, size, size, NONSENSE);
        }
        for (size_t at = 0; right && at < COUNT(others); ++at) {
            right = is_right(call, others[at], known, 0);
        }
        failures += !right;
    }
    assert_int_equal(failures, 0);
}

/* Whether the lines of sizes_of are right: a version ends behind a field, or the padding there. */
static void versions_end_behind_a_field(void** state) {
    (void)state;
    for (size_t i = 0; i < COUNT(sized_calls); ++i) {
        const sized_struct* of = sized_calls[i].of;
        assert_int_equal(of->sizes[of->size_count - 1], of->size);
        for (size_t version = 0; version < of->size_count; ++version) {
            int ends = 0;
            for (size_t field = 1; field < of->end_count; ++field) {
                const size_t end = of->ends[field];
                ends |= end == of->sizes[version] || (end + 7) / 8 * 8 == of->sizes[version];
            }
            if (!ends) print_error("%s: no field ends at %zu\n", of->name, of->sizes[version]);
            assert_true(ends);
        }
    }
}

static int set_up(void** state) {
    (void)state;
    living = make_all();
    EXPECT_OK(tutti_coalescing_begin((tutti_group*)living.group, NULL, &collecting, &error));
    return 0;
}

static int tear_down(void** state) {
    (void)state;
    EXPECT_OK(tutti_coalescing_end(collecting, NULL, NULL, &error));
    expect_all_alive();
    release_all(living);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(only_sizes_that_a_version_had_are_accepted),
        TEST(versions_end_behind_a_field),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
