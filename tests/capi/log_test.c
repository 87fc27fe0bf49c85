/* The log, which is silent until it is asked, and the debug level. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/contract.h"

static const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;

/* Written by the library's thread while a callback is set, read after. */
typedef struct heard {
    int lines;
    int malformed;
    tutti_log_level highest;
    int calls_that_worked;
} heard;

static void listen(tutti_log_level level, const char* message, void* user) {
    heard* what = (heard*)user;
    tutti_store* store = NULL;
    ++what->lines;
    if (message == NULL || message[0] == '\0' || strchr(message, '\n') != NULL) ++what->malformed;
    if (level == TUTTI_LOG_OFF || level > TUTTI_LOG_TRACE) ++what->malformed;
    if (level > what->highest) what->highest = level;
    /* Any function may be called here. */
    if (tutti_hash_store_create(&store, NULL) == TUTTI_OK) ++what->calls_that_worked;
    tutti_store_release(store);
}

/* Two ranks over Gloo, one of which ends without a farewell: rank 0 says that it died. */
static void* rank_1(void* store) {
    tutti_group* group = NULL;
    if (tutti_group_create("gloo", (tutti_store*)store, NULL, 1, 2, NULL, &group, NULL) !=
        TUTTI_OK) {
        return NULL;
    }
    (void)tutti_destroy_process_group(group, NULL, NULL);
    tutti_group_release(group);
    return store;
}

static void make_a_group_that_says_something(void) {
    tutti_store* store = NULL;
    tutti_group* group = NULL;
    pthread_t other;
    void* done = NULL;
    EXPECT_OK(tutti_hash_store_create(&store, &error));
    assert_int_equal(pthread_create(&other, NULL, rank_1, store), 0);
    EXPECT_OK(tutti_group_create("gloo", store, NULL, 0, 2, NULL, &group, &error));
    assert_int_equal(pthread_join(other, &done), 0);
    assert_non_null(done);
    EXPECT_OK(tutti_destroy_process_group(group, NULL, &error));
    tutti_group_release(group);
    tutti_store_release(store);
}

static void a_callback_hears_the_log_up_to_its_level(void** state) {
    (void)state;
    heard everything = {0, 0, 0, 0};
    heard nothing = {0, 0, 0, 0};
    EXPECT_OK(tutti_set_log_callback(listen, &everything, NULL, TUTTI_LOG_TRACE, &error));
    make_a_group_that_says_something();
    EXPECT_OK(tutti_set_log_callback(listen, &nothing, NULL, TUTTI_LOG_OFF, &error));
    make_a_group_that_says_something();
    EXPECT_OK(tutti_set_log_callback(NULL, NULL, NULL, 77, &error));
    assert_true(everything.lines > 0);
    assert_true(everything.highest >= TUTTI_LOG_INFO);
    assert_int_equal(everything.malformed, 0);
    assert_int_equal(everything.calls_that_worked, everything.lines);
    assert_int_equal(nothing.lines, 0);
}

static void count_release(void* user) {
    ++*(int*)user;
}

static void ignore(tutti_log_level level, const char* message, void* user) {
    (void)level;
    (void)message;
    (void)user;
}

/* Not of a call that is refused, nor of the callback that is set. */
static void what_a_callback_uses_is_released_once_it_is_replaced(void** state) {
    (void)state;
    int first = 0, refused = 0, second = 0;
    EXPECT_OK(tutti_set_log_callback(ignore, &first, count_release, TUTTI_LOG_TRACE, &error));
    assert_int_equal(first, 0);
    EXPECT_ERROR(tutti_set_log_callback(ignore, &refused, count_release, 6, &error), bad,
                 "level is 6");
    EXPECT_OK(tutti_set_log_callback(ignore, &second, count_release, TUTTI_LOG_TRACE, &error));
    assert_int_equal(first, 1);
    EXPECT_OK(tutti_set_log_callback(NULL, NULL, NULL, 0, &error));
    EXPECT_OK(tutti_set_log_callback(NULL, NULL, NULL, 0, &error));
    assert_int_equal(first, 1);
    assert_int_equal(second, 1);
    assert_int_equal(refused, 0);
}

static void a_level_that_is_none_is_refused(void** state) {
    (void)state;
    heard nothing = {0, 0, 0, 0};
    EXPECT_ERROR(tutti_set_log_callback(listen, &nothing, NULL, 6, &error), bad,
                 "tutti_set_log_callback: level is 6");
    EXPECT_ERROR(tutti_set_debug_level(3, &error), bad, "tutti_set_debug_level: level is 3");
    assert_int_equal(tutti_get_debug_level(), TUTTI_DEBUG_OFF);
}

static void the_debug_level_comes_from_the_program_or_the_environment(void** state) {
    (void)state;
    static const struct {
        const char* text;
        tutti_debug_level level;
    } rows[] = {{"OFF", TUTTI_DEBUG_OFF},
                {"INFO", TUTTI_DEBUG_INFO},
                {"DETAIL", TUTTI_DEBUG_DETAIL},
                {"detail", TUTTI_DEBUG_DETAIL},
                {"", TUTTI_DEBUG_OFF}};
    for (tutti_debug_level level = TUTTI_DEBUG_OFF; level <= TUTTI_DEBUG_DETAIL; ++level) {
        EXPECT_OK(tutti_set_debug_level(level, &error));
        assert_int_equal(tutti_get_debug_level(), level);
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        (void)setenv("TORCH_DISTRIBUTED_DEBUG", rows[i].text, 1);
        EXPECT_OK(tutti_set_debug_level_from_env(&error));
        assert_int_equal(tutti_get_debug_level(), rows[i].level);
    }
    EXPECT_OK(tutti_set_debug_level(TUTTI_DEBUG_INFO, &error));
    (void)setenv("TORCH_DISTRIBUTED_DEBUG", "2", 1);
    EXPECT_ERROR(tutti_set_debug_level_from_env(&error), bad,
                 "environment variable TORCH_DISTRIBUTED_DEBUG is \"2\"");
    assert_int_equal(tutti_get_debug_level(), TUTTI_DEBUG_INFO);
    (void)unsetenv("TORCH_DISTRIBUTED_DEBUG");
    EXPECT_OK(tutti_set_debug_level_from_env(&error));
    assert_int_equal(tutti_get_debug_level(), TUTTI_DEBUG_OFF);
}

static void a_malformed_variable_is_named_when_a_group_is_made(void** state) {
    (void)state;
    static const char* const names[] = {"TUTTI_LOG_LEVEL", "TUTTI_LOG_FORMAT", "TUTTI_CPU",
                                        "TORCH_CPP_LOG_LEVEL", "TORCH_DISTRIBUTED_DEBUG"};
    tutti_store* store = NULL;
    tutti_group* group = NULL;
    EXPECT_OK(tutti_hash_store_create(&store, &error));
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        const char* inherited = getenv(names[i]);
        char* before = inherited == NULL ? NULL : strdup(inherited);
        (void)setenv(names[i], "nonsense", 1);
        EXPECT_ERROR(tutti_group_create("loopback", store, NULL, 0, 1, NULL, &group, &error), bad,
                     names[i]);
        EXPECT_ERROR(
            tutti_init_process_group("loopback", "tcp://localhost:1", NULL, 0, 1, NULL, &error),
            bad, names[i]);
        if (before == NULL) {
            (void)unsetenv(names[i]);
        } else {
            (void)setenv(names[i], before, 1);
        }
        free(before);
    }
    assert_null(group);
    tutti_store_release(store);
}

/* A fact of a setting; "" if it has none. */
static const char* fact(const char* name, const char* key) {
    static char kept[256];
    tutti_object* settings = NULL;
    int64_t setting = 0, node = 0, size = 0;
    const char* text = NULL;
    kept[0] = '\0';
    EXPECT_OK(tutti_get_settings(&settings, &error));
    if (tutti_object_find(settings, 0, name, &setting, NULL) == TUTTI_OK && setting >= 0 &&
        tutti_object_find(settings, setting, key, &node, NULL) == TUTTI_OK && node >= 0 &&
        tutti_object_get_string(settings, node, &text, &size, NULL) == TUTTI_OK) {
        (void)snprintf(kept, sizeof kept, "%s", text);
    }
    tutti_object_release(settings);
    return kept;
}

static void settings_tell_where_they_come_from(void** state) {
    (void)state;
    char* const level =
        getenv("TUTTI_LOG_LEVEL") == NULL ? NULL : strdup(getenv("TUTTI_LOG_LEVEL"));
    (void)unsetenv("TUTTI_LOG_LEVEL");
    (void)unsetenv("TUTTI_PLACEMENT");
    (void)setenv("TORCH_CPP_LOG_LEVEL", "ERROR", 1);
    (void)setenv("TUTTI_PROGRESS", "a\nb", 1);
    (void)setenv("TUTTI_LOG_LEVLE", "info", 1);
    (void)setenv("TUTTI_ABACUS_MODULE", "/lib/abacus.so", 1);
    assert_string_equal(fact("TUTTI_PLACEMENT", "value"), "1");
    assert_string_equal(fact("TUTTI_PLACEMENT", "source"), "default");
    assert_string_equal(fact("TUTTI_PLACEMENT", "variable"), "");
    assert_string_equal(fact("TUTTI_PROGRESS", "value"), "a\\nb");
    assert_string_equal(fact("TUTTI_PROGRESS", "source"), "environment");
    assert_string_equal(fact("TUTTI_PROGRESS", "default"), "50");
    assert_string_equal(fact("TUTTI_PROGRESS", "variable"), "TUTTI_PROGRESS");
    assert_string_equal(fact("TUTTI_LOG_LEVEL", "value"), "ERROR");
    assert_string_equal(fact("TUTTI_LOG_LEVEL", "variable"), "TORCH_CPP_LOG_LEVEL");
    assert_string_equal(fact("TUTTI_LOG_LEVLE", "source"), "unknown");
    assert_string_equal(fact("TUTTI_LOG_LEVLE", "nearest"), "TUTTI_LOG_LEVEL");
    assert_string_equal(fact("TUTTI_ABACUS_MODULE", "source"), "environment");
    assert_string_equal(fact("TUTTI_STORE_SERVED_AT", "value"), "");
    assert_string_equal(fact("TORCH_DISTRIBUTED_DEBUG", "value"), "OFF");
    EXPECT_OK(tutti_set_debug_level(TUTTI_DEBUG_INFO, &error));
    assert_string_equal(fact("TORCH_DISTRIBUTED_DEBUG", "value"), "INFO");
    assert_string_equal(fact("TORCH_DISTRIBUTED_DEBUG", "source"), "call");
    EXPECT_OK(tutti_set_debug_level(TUTTI_DEBUG_OFF, &error));
    EXPECT_OK(tutti_set_log_callback(ignore, NULL, NULL, TUTTI_LOG_DEBUG, &error));
    assert_string_equal(fact("TUTTI_LOG_LEVEL", "value"), "debug");
    assert_string_equal(fact("TUTTI_LOG_LEVEL", "source"), "call");
    EXPECT_OK(tutti_set_log_callback(NULL, NULL, NULL, 0, &error));
    EXPECT_ERROR(tutti_get_settings(NULL, &error), bad, "out_settings is NULL");
    if (level != NULL) (void)setenv("TUTTI_LOG_LEVEL", level, 1);
    free(level);
    (void)unsetenv("TORCH_CPP_LOG_LEVEL");
    (void)unsetenv("TUTTI_PROGRESS");
    (void)unsetenv("TUTTI_LOG_LEVLE");
    (void)unsetenv("TUTTI_ABACUS_MODULE");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_callback_hears_the_log_up_to_its_level),
        TEST(what_a_callback_uses_is_released_once_it_is_replaced),
        TEST(a_level_that_is_none_is_refused),
        TEST(the_debug_level_comes_from_the_program_or_the_environment),
        TEST(a_malformed_variable_is_named_when_a_group_is_made),
        TEST(settings_tell_where_they_come_from),
    };
    (void)unsetenv("TORCH_DISTRIBUTED_DEBUG");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
