/* The differences between the kinds of store: how they are made, how long they live, what is left
 * of them after the release. */
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "support/held_port.h"
#include "support/stores.h"

static void stores_are_refused_what_they_cannot_be_made_from(void** state) {
    (void)state;
    tutti_store* store = NULL;
    const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;
    EXPECT_ERROR(tutti_hash_store_create(NULL, &error), bad, "out_store is NULL");
    EXPECT_ERROR(tutti_file_store_create(NULL, 1, NULL, &store, &error), bad, "path is NULL");
    EXPECT_ERROR(tutti_file_store_create("", 1, NULL, &store, &error), bad, "path is empty");
    EXPECT_ERROR(tutti_file_store_create(path, 0, NULL, &store, &error), bad, "world_size is 0");
    EXPECT_ERROR(tutti_file_store_create(path, 1, NULL, NULL, &error), bad, "out_store is NULL");
    EXPECT_ERROR(tutti_file_store_create("/there/is/no/such/folder", 1, NULL, &store, &error),
                 TUTTI_ERR_STORE, "/there/is/no/such/folder");
    EXPECT_ERROR(tutti_prefix_store_create(stores[HASH], NULL, &store, &error), bad, "prefix is");
    EXPECT_ERROR(tutti_prefix_store_create(stores[HASH], "a", NULL, &error), bad, "out_store is");
    EXPECT_ERROR(tutti_tcp_store_create(NULL, 0, 1, 1, NULL, &store, &error), bad, "host is NULL");
    EXPECT_ERROR(tutti_tcp_store_create("", 0, 1, 1, NULL, &store, &error), bad, "host is empty");
    EXPECT_ERROR(tutti_tcp_store_create("localhost", -1, 1, 1, NULL, &store, &error), bad,
                 "port is -1");
    EXPECT_ERROR(tutti_tcp_store_create("localhost", 65536, 1, 1, NULL, &store, &error), bad,
                 "port is 65536");
    EXPECT_ERROR(tutti_tcp_store_create("localhost", 0, 1, 0, NULL, &store, &error), bad,
                 "port is 0");
    EXPECT_ERROR(tutti_tcp_store_create("localhost", 0, 0, 1, NULL, &store, &error), bad,
                 "world_size is 0");
    EXPECT_ERROR(tutti_tcp_store_create("localhost", 0, 1, 2, NULL, &store, &error), bad,
                 "is_master is 2");
    EXPECT_ERROR(tutti_tcp_store_create("localhost", 0, 1, 1, NULL, NULL, &error), bad,
                 "out_store is NULL");
    assert_null(store);
}

static void wrong_options_of_a_server_are_named(void** state) {
    (void)state;
    tutti_store* store = NULL;
    const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;
    const tutti_tcp_store_options zero = TUTTI_TCP_STORE_OPTIONS_INIT;
    const struct {
        size_t offset;
        int wide;
        int64_t value;
        const char* named;
    } cases[] = {
        {offsetof(tutti_tcp_store_options, multi_tenant), 0, 2, "options.multi_tenant is 2"},
        {offsetof(tutti_tcp_store_options, has_master_listen_fd), 0, 2, "has_master_listen_fd is"},
        {offsetof(tutti_tcp_store_options, master_listen_fd), 0, 5, "not has_master_listen_fd"},
        {offsetof(tutti_tcp_store_options, max_connections), 0, -1, "options.max_connections is -"},
        {offsetof(tutti_tcp_store_options, max_connections), 0, INT32_MAX, "connections"},
        {offsetof(tutti_tcp_store_options, max_key_bytes), 1, -1, "options.max_key_bytes is -1"},
        {offsetof(tutti_tcp_store_options, max_key_bytes), 1, 1 << 21, "bytes of a key"},
        {offsetof(tutti_tcp_store_options, max_value_bytes), 1, INT64_MAX, "bytes of a value"},
        {offsetof(tutti_tcp_store_options, max_keys_per_request), 1, 1 << 25, "keys in a request"},
        {offsetof(tutti_tcp_store_options, max_memory_bytes), 1, INT64_MAX, "bytes of memory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        tutti_tcp_store_options options = zero;
        const int32_t narrow = (int32_t)cases[i].value;
        if (cases[i].wide)
            memcpy((char*)&options + cases[i].offset, &cases[i].value, sizeof(int64_t));
        else
            memcpy((char*)&options + cases[i].offset, &narrow, sizeof narrow);
        EXPECT_ERROR(tutti_tcp_store_create("localhost", 0, 1, 1, &options, &store, &error), bad,
                     cases[i].named);
    }
    tutti_tcp_store_options options = zero;
    options.has_master_listen_fd = 1;
    EXPECT_ERROR(tutti_tcp_store_create("localhost", 1, 1, 0, &options, &store, &error), bad,
                 "is_master is 0");
    options.master_listen_fd = open("/dev/null", O_RDONLY);
    EXPECT_ERROR(tutti_tcp_store_create("localhost", 0, 1, 1, &options, &store, &error), bad,
                 "cannot listen at descriptor");
    close(options.master_listen_fd);
    assert_null(store);
}

/* The size of a caller that was built against the first version of the struct. */
static void options_of_an_older_caller_are_read(void** state) {
    (void)state;
    tutti_store* store = NULL;
    int64_t timeout_ms = 0;
    tutti_tcp_store_options options = TUTTI_TCP_STORE_OPTIONS_INIT;
    options.struct_size = offsetof(tutti_tcp_store_options, multi_tenant);
    options.timeout_ms = 60000;
    options.multi_tenant = 77; /* memory that is not the struct's */
    EXPECT_OK(tutti_tcp_store_create("localhost", 0, 1, 1, &options, &store, &error));
    EXPECT_OK(tutti_store_get_timeout(store, &timeout_ms, &error));
    assert_int_equal(timeout_ms, 60000);
    tutti_store_release(store);
}

static void masters_of_one_process_can_share_a_port(void** state) {
    (void)state;
    int32_t port = 0;
    tutti_store *first = NULL, *second = NULL;
    tutti_tcp_store_options options = TUTTI_TCP_STORE_OPTIONS_INIT;
    options.multi_tenant = 1;
    EXPECT_OK(tutti_tcp_store_create("localhost", 0, 1, 1, &options, &first, &error));
    EXPECT_OK(tutti_tcp_store_port(first, &port, &error));
    EXPECT_OK(tutti_tcp_store_create("localhost", port, 1, 1, &options, &second, &error));
    EXPECT_OK(tutti_store_set(first, "key", "value", 5, &error));
    expect_stored(first, "key", "value");
    tutti_store_release(first);
    expect_stored(second, "key", "value");
    EXPECT_ERROR(tutti_tcp_store_create("localhost", port, 1, 1, NULL, &first, &error),
                 TUTTI_ERR_NETWORK, "EADDRINUSE");
    assert_memory_equal(error.message, "tutti_tcp_store_create: ", 24);
    tutti_store_release(second);
}

static void a_master_serves_at_a_socket_of_the_callers(void** state) {
    (void)state;
    int32_t port = 0;
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    tutti_store* store = NULL;
    tutti_tcp_store_options options = TUTTI_TCP_STORE_OPTIONS_INIT;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    options.has_master_listen_fd = 1;
    options.master_listen_fd = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_ERROR(tutti_tcp_store_create("localhost", 0, 1, 1, &options, &store, &error),
                 TUTTI_ERR_INVALID_ARGUMENT, "not bound to a port");
    assert_int_equal(bind(options.master_listen_fd, (struct sockaddr*)&address, size), 0);
    assert_int_equal(getsockname(options.master_listen_fd, (struct sockaddr*)&address, &size), 0);
    EXPECT_ERROR(tutti_tcp_store_create("localhost", 1, 1, 1, &options, &store, &error),
                 TUTTI_ERR_INVALID_ARGUMENT, "not to 1");
    EXPECT_OK(tutti_tcp_store_create("localhost", 0, 1, 1, &options, &store, &error));
    close(options.master_listen_fd);
    EXPECT_OK(tutti_tcp_store_port(store, &port, &error));
    assert_int_equal(port, ntohs(address.sin_port));
    EXPECT_OK(tutti_store_set(store, "key", "value", 5, &error));
    expect_stored(store, "key", "value");
    tutti_store_release(store);
}

static void limits_of_the_server_are_kept_by_its_clients(void** state) {
    (void)state;
    int32_t port = 0;
    tutti_store *master = NULL, *client = NULL, *third = NULL;
    const char* keys[] = {"a", "b", "c"};
    int32_t found = -1;
    tutti_tcp_store_options options = TUTTI_TCP_STORE_OPTIONS_INIT;
    options.max_key_bytes = 3;
    options.max_value_bytes = 5;
    options.max_keys_per_request = 2;
    options.max_connections = 2;
    EXPECT_OK(tutti_tcp_store_create("localhost", 0, 1, 1, &options, &master, &error));
    EXPECT_OK(tutti_tcp_store_port(master, &port, &error));
    EXPECT_OK(tutti_tcp_store_create("localhost", port, -1, 0, NULL, &client, &error));
    EXPECT_OK(tutti_store_set(client, "key", "value", 5, &error));
    expect_stored(master, "key", "value");
    EXPECT_ERROR(tutti_store_set(client, "keys", "", 0, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "at most 3");
    EXPECT_ERROR(tutti_store_set(client, "key", "values", 6, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "at most 5");
    EXPECT_ERROR(tutti_store_check(client, keys, 3, &found, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "at most 2");
    EXPECT_ERROR(tutti_tcp_store_create("localhost", port, -1, 0, NULL, &third, &error),
                 TUTTI_ERR_STORE, "the server is full");
    tutti_store_release(client);
    tutti_store_release(master);
}

static void expect_text(tutti_bytes* bytes, const char* wanted) {
    assert_string_equal((const char*)tutti_bytes_data(bytes), wanted);
    assert_int_equal(tutti_bytes_size(bytes), strlen(wanted));
    tutti_bytes_release(bytes);
}

static void stores_tell_where_they_are(void** state) {
    (void)state;
    tutti_bytes* bytes = NULL;
    tutti_store *inner = NULL, *outer = NULL, *got = NULL;
    const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;
    EXPECT_OK(tutti_tcp_store_host(stores[TCP], &bytes, &error));
    expect_text(bytes, "localhost");
    EXPECT_ERROR(tutti_tcp_store_host(stores[FILE_], &bytes, &error), bad, "not a TCP store");
    EXPECT_ERROR(tutti_tcp_store_host(stores[TCP], NULL, &error), bad, "out_host is NULL");
    EXPECT_OK(tutti_file_store_path(stores[FILE_], &bytes, &error));
    expect_text(bytes, path);
    EXPECT_ERROR(tutti_file_store_path(stores[HASH], &bytes, &error), bad, "not a file store");
    EXPECT_ERROR(tutti_file_store_path(stores[FILE_], NULL, &error), bad, "out_path is NULL");
    EXPECT_OK(tutti_prefix_store_create(stores[HASH], "a", &inner, &error));
    EXPECT_OK(tutti_prefix_store_create(inner, "b", &outer, &error));
    EXPECT_OK(tutti_prefix_store_underlying_store(outer, &got, &error));
    EXPECT_OK(tutti_store_set(got, "key", "value", 5, &error));
    expect_stored(stores[HASH], "a/key", "value");
    EXPECT_ERROR(tutti_prefix_store_underlying_store(stores[HASH], &got, &error), bad,
                 "not a prefix store");
    EXPECT_ERROR(tutti_prefix_store_underlying_store(outer, NULL, &error), bad, "out_store is NU");
    tutti_store_release(got);
    tutti_store_release(outer);
    tutti_store_release(inner);
}

static void only_a_tcp_store_has_a_port(void** state) {
    (void)state;
    int32_t port = 0;
    EXPECT_OK(tutti_tcp_store_port(stores[TCP], &port, &error));
    assert_in_range(port, 1, 65535);
    EXPECT_ERROR(tutti_tcp_store_port(stores[TCP], NULL, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "out_port is NULL");
    EXPECT_ERROR(tutti_tcp_store_port(stores[HASH], &port, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "not a TCP store");
}

static void clients_of_a_tcp_store_see_each_other(void** state) {
    (void)state;
    int32_t port = 0;
    tutti_store *client = NULL, *nobody = NULL;
    tutti_tcp_store_options options = TUTTI_TCP_STORE_OPTIONS_INIT;
    options.timeout_ms = 3000; /* long enough to get as far as the waiting */
    EXPECT_OK(tutti_tcp_store_port(stores[TCP], &port, &error));
    EXPECT_OK(tutti_store_set(stores[TCP], "key", "value", 5, &error));
    EXPECT_OK(tutti_tcp_store_create("localhost", port, -1, 0, NULL, &client, &error));
    expect_stored(client, "key", "value");
    tutti_store_release(client);
    /* World size 1 has come already: a store for two, whose second client stays away. */
    EXPECT_ERROR(tutti_tcp_store_create("localhost", 0, 2, 1, &options, &nobody, &error),
                 TUTTI_ERR_TIMEOUT, "1 of 2");
    assert_null(nobody);
}

static void a_port_and_a_file_are_free_again_after_the_release(void** state) {
    (void)state;
    const held_port held = hold_port();
    for (int i = 0; i < 5; ++i) {
        int32_t found = 1;
        const char* key = "of the last one";
        tutti_store_release(stores[TCP]);
        EXPECT_OK(
            tutti_tcp_store_create("localhost", held.number, 1, 1, NULL, &stores[TCP], &error));
        tutti_store_release(stores[FILE_]);
        EXPECT_OK(tutti_file_store_create(path, 1, NULL, &stores[FILE_], &error));
        EXPECT_OK(tutti_store_check(stores[FILE_], &key, 1, &found, &error));
        assert_int_equal(found, 0);
        EXPECT_OK(tutti_store_set(stores[FILE_], key, "", 0, &error));
    }
    close(held.holder);
}

static void prefixes_keep_keys_apart(void** state) {
    (void)state;
    tutti_store *a = NULL, *b = NULL, *inner = NULL;
    EXPECT_OK(tutti_prefix_store_create(stores[HASH], "a", &a, &error));
    EXPECT_OK(tutti_prefix_store_create(stores[HASH], "b", &b, &error));
    EXPECT_OK(tutti_prefix_store_create(b, "c", &inner, &error));
    EXPECT_OK(tutti_store_set(a, "key", "of a", 4, &error));
    EXPECT_OK(tutti_store_set(b, "key", "of b", 4, &error));
    EXPECT_OK(tutti_store_set(inner, "key", "of b/c", 6, &error));
    expect_stored(a, "key", "of a");
    expect_stored(stores[HASH], "a/key", "of a");
    expect_stored(stores[HASH], "b/key", "of b");
    expect_stored(stores[HASH], "b/c/key", "of b/c");
    tutti_store_release(b); /* the inner one keeps it */
    expect_stored(inner, "key", "of b/c");
    tutti_store_release(inner);
    tutti_store_release(a);
}

static void a_released_store_is_refused(void** state) {
    (void)state;
    tutti_store *store = NULL, *next = NULL;
    EXPECT_OK(tutti_hash_store_create(&store, &error));
    tutti_store_release(store);
    EXPECT_ERROR(tutti_store_set(store, "key", "", 0, &error), TUTTI_ERR_INVALID_HANDLE,
                 "released");
    EXPECT_OK(tutti_hash_store_create(&next, &error));
    tutti_store_release(store); /* twice: must not touch what came after it */
    EXPECT_OK(tutti_store_set(next, "key", "", 0, &error));
    tutti_store_release(next);
}

static void released_bytes_are_refused(void** state) {
    (void)state;
    tutti_bytes* value = NULL;
    EXPECT_OK(tutti_store_set(stores[HASH], "key", "value", 5, &error));
    EXPECT_OK(tutti_store_get(stores[HASH], "key", NULL, &value, &error));
    tutti_bytes_release(value);
    assert_null(tutti_bytes_data(value));
    assert_int_equal(tutti_bytes_size(value), 0);
    tutti_bytes_release(value);
    tutti_bytes_release(NULL);
}

static void* wait_for_end(void* view) {
    const char* key = "end";
    const tutti_store_call_options forever = within_ms(TUTTI_NO_TIMEOUT);
    return (void*)(intptr_t)tutti_store_wait((tutti_store*)view, &key, 1, &forever, NULL);
}

/* Whether the other thread had begun to wait cannot be seen; so again until it had. */
static void a_release_does_not_disturb_the_wait_of_another_thread(void** state) {
    (void)state;
    for (int kind = HASH; kind <= TCP; ++kind) {
        void* ended = NULL;
        do {
            pthread_t thread;
            tutti_store* view = NULL;
            int32_t deleted = 0;
            EXPECT_OK(tutti_prefix_store_create(stores[kind], "view", &view, &error));
            assert_int_equal(pthread_create(&thread, NULL, wait_for_end, view), 0);
            sched_yield();
            tutti_store_release(view);
            EXPECT_OK(tutti_store_set(stores[kind], "view/end", "", 0, &error));
            pthread_join(thread, &ended);
            EXPECT_OK(tutti_store_delete_key(stores[kind], "view/end", &deleted, &error));
            if ((intptr_t)ended != TUTTI_OK) {
                assert_int_equal((intptr_t)ended, TUTTI_ERR_INVALID_HANDLE);
            }
        } while ((intptr_t)ended != TUTTI_OK);
    }
}

/* A process of its own, which must not have used tutti before; it leaves by exit(). */
static int what_is_released_before_exit_ends(void) {
    int ended = -1;
    if (mkdtemp(directory) == NULL) return 0;
    (void)snprintf(path, sizeof path, "%s/store", directory);
    const pid_t child = fork();
    if (child == 0) {
        tutti_store* store = NULL;
        if (tutti_file_store_create(path, 1, NULL, &store, NULL) != TUTTI_OK) exit(1);
        if (tutti_store_set(store, "key", "value", 5, NULL) != TUTTI_OK) exit(2);
        if (access(path, F_OK) != 0) exit(3);
        tutti_store_release(store);
        exit(0);
    }
    const int exited = waitpid(child, &ended, 0) == child && ended == 0;
    const int removed = access(path, F_OK) != 0;
    if (!exited || !removed) print_error("exited well: %d, file removed: %d\n", exited, removed);
    (void)unlink(path);
    (void)rmdir(directory);
    memcpy(strrchr(directory, '_') + 1, "XXXXXX", 6);
    return exited && removed;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STORE_TEST(stores_are_refused_what_they_cannot_be_made_from),
        STORE_TEST(wrong_options_of_a_server_are_named),
        STORE_TEST(options_of_an_older_caller_are_read),
        STORE_TEST(masters_of_one_process_can_share_a_port),
        STORE_TEST(a_master_serves_at_a_socket_of_the_callers),
        STORE_TEST(limits_of_the_server_are_kept_by_its_clients),
        STORE_TEST(stores_tell_where_they_are),
        STORE_TEST(only_a_tcp_store_has_a_port),
        STORE_TEST(clients_of_a_tcp_store_see_each_other),
        STORE_TEST(a_port_and_a_file_are_free_again_after_the_release),
        STORE_TEST(prefixes_keep_keys_apart),
        STORE_TEST(a_released_store_is_refused),
        STORE_TEST(released_bytes_are_refused),
        STORE_TEST(a_release_does_not_disturb_the_wait_of_another_thread),
    };
    if (!what_is_released_before_exit_ends()) return 1;
    RUN_STORE_TESTS(tests);
}
