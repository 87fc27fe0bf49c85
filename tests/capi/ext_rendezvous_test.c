/* Ways to meet from outside (tutti/ext.h): that of a library, for several processes, and schemes of
 * this program, right and wrong ones. */
#define _DEFAULT_SOURCE 1 /* mkdtemp */
#include <stdio.h>
#include <stdlib.h>
#include <tutti/ext.h>

#include "support/contract.h"

enum { PROCESSES = 3 };
static char folder[] = "/tmp/tutti_rendezvous_test_XXXXXX";

static int32_t number_of(const char* variable) {
    const char* const value = getenv(variable);
    return value == NULL ? -1 : (int32_t)atoi(value);
}

static tutti_status init(const char* method, int32_t rank, int32_t world_size, tutti_error* fault) {
    return tutti_init_process_group("gloo", method, NULL, rank, world_size, NULL, fault);
}

/* In a process of its own. Every other one says its rank in the URL. */
static tutti_status meet_in_a_folder(int32_t local_rank, void* user, tutti_error* fault) {
    char method[128];
    int32_t sum = 1;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&sum, 1, TUTTI_INT32);
    const int32_t rank = number_of("RANK");
    const int is_told = local_rank % 2;
    (void)snprintf(method, sizeof method,
                   is_told ? "folder://%s?rank=%d&timeout=60" : "folder://%s", (const char*)user,
                   (int)rank);
    tutti_status status = init(method, is_told ? -1 : rank, number_of("WORLD_SIZE"), fault);
    if (status != TUTTI_OK) return status;
    status = tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, NULL, NULL, fault);
    if (status != TUTTI_OK) return status;
    if (sum != PROCESSES || tutti_get_rank(TUTTI_GROUP_WORLD) != rank) return TUTTI_ERR_INTERNAL;
    return tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, fault);
}

static void processes_meet_by_the_scheme_of_a_library(void** state) {
    (void)state;
    EXPECT_OK(tutti_spawn(meet_in_a_folder, folder, PROCESSES, NULL, NULL, &error));
}

static void a_scheme_that_is_not_there_says_why(void** state) {
    char method[128];
    (void)state;
    EXPECT_ERROR(init("pigeon://x", 0, 1, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "init method \"pigeon://x\" is not known; there are env://, tcp://host:port");
    EXPECT_ERROR(init("pigeon://x", 0, 1, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "and there is no library: ");
    EXPECT_ERROR(init("mailbox://x", 0, 1, &error), TUTTI_ERR_UNSUPPORTED,
                 "libtutti-mailbox.so: there is no rendezvous in it");
    EXPECT_ERROR(init("folder:///nowhere/at/all", 0, 1, &error), TUTTI_ERR_STORE,
                 "\"folder:///nowhere/at/all\": /nowhere/at/all: No such file");
    (void)snprintf(method, sizeof method, "folder://%s?colour=red", folder);
    EXPECT_ERROR(init(method, 0, 1, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "folder has no parameters, not \"colour=red\"");
    (void)snprintf(method, sizeof method, "folder://%s", folder);
    EXPECT_ERROR(init(method, -1, 1, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "needs the argument rank");
    assert_int_equal(tutti_is_initialized(), 0);
}

/* ---- Schemes of this program ---- */

typedef enum behaviour { RIGHT, FAILING, WITHOUT_STORE, WITHOUT_RANK, STALE } behaviour;

static tutti_store* handed_over;

static tutti_status meet(void* user, tutti_rendezvous* at, tutti_error* fault) {
    const behaviour how = *(const behaviour*)user;
    if (how == FAILING) {
        (void)snprintf(fault->message, sizeof fault->message, "the owl is away");
        fault->system_errno = 7;
        return TUTTI_ERR_NETWORK;
    }
    if (how == WITHOUT_STORE) return TUTTI_OK;
    const tutti_status status = tutti_hash_store_create(&at->store, fault);
    if (status != TUTTI_OK) return status;
    handed_over = at->store;
    if (how == STALE) tutti_store_release(at->store);
    if (how != RIGHT) return TUTTI_OK;
    if (strcmp(at->url, "owl://tree/3?a=b&timeout=5&&c=d") != 0) return TUTTI_ERR_INTERNAL;
    if (strcmp(at->address, "tree/3") != 0) return TUTTI_ERR_INTERNAL;
    if (strcmp(at->parameters, "a=b&c=d") != 0) return TUTTI_ERR_INTERNAL;
    if (at->rank != -1 || at->world_size != -1) return TUTTI_ERR_INTERNAL;
    if (at->timeout_ms != 5000) return TUTTI_ERR_INTERNAL;
    at->rank = 0;
    at->world_size = 1;
    return TUTTI_OK;
}

static behaviour chosen = RIGHT;

static tutti_rendezvous_table table_of(const char* name) {
    const tutti_rendezvous_table table = {sizeof(tutti_rendezvous_table), TUTTI_EXT_VERSION, name,
                                          &chosen, meet};
    return table;
}

static void a_table_is_checked_when_it_is_registered(void** state) {
    tutti_rendezvous_table table = table_of("owl");
    (void)state;
    EXPECT_ERROR(tutti_rendezvous_register(NULL, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "tutti_rendezvous_register: the rendezvous table is NULL");
    table.version = 9;
    EXPECT_ERROR(tutti_rendezvous_register(&table, &error), TUTTI_ERR_UNSUPPORTED,
                 "its interface is 9, this library's is 1");
    table = table_of("owl");
    table.struct_size = 8;
    EXPECT_ERROR(tutti_rendezvous_register(&table, &error), TUTTI_ERR_UNSUPPORTED,
                 "the rendezvous table has a struct_size of 8");
    table = table_of("owl");
    table.meet = NULL;
    EXPECT_ERROR(tutti_rendezvous_register(&table, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "meet is NULL");
    table = table_of("Owl");
    EXPECT_ERROR(tutti_rendezvous_register(&table, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "name is \"Owl\"");
    table = table_of("tcp");
    EXPECT_ERROR(tutti_rendezvous_register(&table, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "there is a scheme \"tcp\" already");
    table = table_of("owl");
    EXPECT_OK(tutti_rendezvous_register(&table, &error));
    EXPECT_ERROR(tutti_rendezvous_register(&table, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "there is a scheme \"owl\" already");
}

static void a_scheme_gives_store_rank_and_world_size(void** state) {
    tutti_store_call_options soon = TUTTI_STORE_CALL_OPTIONS_INIT;
    const char* const key = "key";
    int64_t timeout_ms = 0;
    (void)state;
    soon.timeout_ms = 1;
    chosen = RIGHT;
    EXPECT_OK(init("owl://tree/3?a=b&timeout=5&&c=d", -1, -1, &error));
    EXPECT_OK(tutti_group_get_timeout(TUTTI_GROUP_WORLD, &timeout_ms, &error));
    assert_int_equal(timeout_ms, 5000);
    EXPECT_ERROR(tutti_store_wait(handed_over, &key, 1, &soon, &error), TUTTI_ERR_INVALID_HANDLE,
                 "store");
    EXPECT_OK(tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &error));
    EXPECT_OK(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error));
}

static void a_scheme_that_fails_says_why(void** state) {
    (void)state;
    chosen = FAILING;
    EXPECT_ERROR(init("owl://tree", 0, 1, &error), TUTTI_ERR_NETWORK,
                 "tutti_init_process_group: init method \"owl://tree\": the owl is away");
    assert_int_equal(error.system_errno, 7);
    chosen = WITHOUT_STORE;
    EXPECT_ERROR(init("owl://tree", 0, 1, &error), TUTTI_ERR_STORE,
                 "init method \"owl://tree\": it gave no store");
    chosen = WITHOUT_RANK;
    EXPECT_ERROR(init("owl://tree", -1, 1, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "needs the argument rank");
    EXPECT_ERROR(init("owl://tree", 2, 2, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "rank 2 is not below the world size, 2");
    chosen = STALE;
    EXPECT_ERROR(init("owl://tree", 0, 1, &error), TUTTI_ERR_INVALID_HANDLE,
                 "the store that it gave");
    assert_int_equal(tutti_is_initialized(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(processes_meet_by_the_scheme_of_a_library), /* while this process has no threads */
        TEST(a_scheme_that_is_not_there_says_why),
        TEST(a_table_is_checked_when_it_is_registered),
        TEST(a_scheme_gives_store_rank_and_world_size),
        TEST(a_scheme_that_fails_says_why),
    };
    if (mkdtemp(folder) == NULL) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[sizeof folder + 16];
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 ? failed : 1;
}
