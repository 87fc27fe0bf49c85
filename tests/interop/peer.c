/* A client of tutti's stores, or a server, that does what it is told on its standard input, a line
 * a command, and answers each with a line: "ok" and values, or "error", its kind and a message. One
 * space stands between words; strings are in hexadecimal, "-" is the empty one. Public headers
 * only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>

enum { MOST_WORDS = 256 };

typedef struct text {
    char* bytes; /* NUL-terminated */
    size_t size;
} text;

static tutti_store *opened, *store; /* `store` is `opened`, or a prefix store over it */
static tutti_error error;
static text words[MOST_WORDS]; /* of the command, its name the first */
static int word_count;

static void die(const char* why) {
    fprintf(stderr, "peer: %s\n", why);
    exit(2);
}

static int nibble(char digit) {
    return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

/* Decodes the word in place. */
static text decoded(int index) {
    text word = words[index];
    if (strcmp(word.bytes, "-") == 0) word.bytes[0] = '\0';
    word.size = strlen(word.bytes) / 2;
    for (size_t i = 0; i < word.size; ++i)
        word.bytes[i] = (char)(nibble(word.bytes[2 * i]) << 4 | nibble(word.bytes[2 * i + 1]));
    word.bytes[word.size] = '\0';
    return word;
}

static const char* key(int index) {
    return decoded(index).bytes;
}

/* Every word from `first` on, `step` apart. */
static size_t keys(int first, int step, const char** out) {
    size_t count = 0;
    for (int index = first; index < word_count; index += step) out[count++] = key(index);
    return count;
}

static int64_t number(int index) {
    return strtoll(words[index].bytes, NULL, 10);
}

static void say_number(int64_t value) {
    printf(" %lld", (long long)value);
}

static void say_bytes(tutti_bytes* value) {
    static const char digits[] = "0123456789abcdef";
    const unsigned char* const bytes = (const unsigned char*)tutti_bytes_data(value);
    const size_t size = tutti_bytes_size(value);
    putchar(' ');
    if (size == 0) putchar('-');
    for (size_t i = 0; i < size; ++i) {
        putchar(digits[bytes[i] >> 4]);
        putchar(digits[bytes[i] & 15]);
    }
    tutti_bytes_release(value);
}

/* A command is done when the call has succeeded; "ok" comes before what it says. */
#define TRY(call)                                \
    do {                                         \
        const tutti_status status_ = (call);     \
        if (status_ != TUTTI_OK) return status_; \
    } while (0)
#define TRY_AND_SAY(call, say) \
    do {                       \
        TRY(call);             \
        printf("ok");          \
        say;                   \
    } while (0)

static void forget(void) {
    if (store != opened) tutti_store_release(store);
    tutti_store_release(opened);
    store = opened = NULL;
}

static tutti_status open_tcp(int64_t port, int64_t world, int32_t is_master) {
    tutti_tcp_store_options options = TUTTI_TCP_STORE_OPTIONS_INIT;
    int32_t served_at = 0;
    forget();
    options.no_wait_for_workers = world < 1;
    TRY(tutti_tcp_store_create("127.0.0.1", (int32_t)port, (int32_t)world, is_master, &options,
                               &opened, &error));
    store = opened;
    TRY_AND_SAY(tutti_tcp_store_port(store, &served_at, &error), say_number(served_at));
    return TUTTI_OK;
}

static tutti_status do_serve(void) {
    return open_tcp(0, -1, 1);
}

static tutti_status do_serve_at(void) {
    return open_tcp(number(1), number(2), 1);
}

static tutti_status do_connect(void) {
    return open_tcp(number(1), number(2), 0);
}

static tutti_status do_file(void) {
    forget();
    TRY_AND_SAY(
        tutti_file_store_create(words[1].bytes, (int32_t)number(2), NULL, &opened, &error), );
    store = opened;
    return TUTTI_OK;
}

static tutti_status do_prefix(void) {
    tutti_store* under = store;
    TRY_AND_SAY(tutti_prefix_store_create(under, key(1), &store, &error), );
    if (under != opened) tutti_store_release(under);
    return TUTTI_OK;
}

static tutti_status do_close(void) {
    forget();
    printf("ok");
    return TUTTI_OK;
}

static tutti_status do_timeout(void) {
    TRY_AND_SAY(tutti_store_set_timeout(store, number(1), &error), );
    return TUTTI_OK;
}

static tutti_status do_set(void) {
    const text value = decoded(2);
    TRY_AND_SAY(tutti_store_set(store, key(1), value.bytes, value.size, &error), );
    return TUTTI_OK;
}

static tutti_status do_append(void) {
    const text value = decoded(2);
    TRY_AND_SAY(tutti_store_append(store, key(1), value.bytes, value.size, &error), );
    return TUTTI_OK;
}

static tutti_status do_get(void) {
    tutti_bytes* value = NULL;
    TRY_AND_SAY(tutti_store_get(store, key(1), NULL, &value, &error), say_bytes(value));
    return TUTTI_OK;
}

static tutti_status do_add(void) {
    int64_t sum = 0;
    TRY_AND_SAY(tutti_store_add(store, key(1), number(2), &sum, &error), say_number(sum));
    return TUTTI_OK;
}

static tutti_status do_add_many(void) {
    const char* const counter = key(1);
    const int64_t count = number(2);
    int64_t sum = 0;
    for (int64_t i = 0; i < count; ++i) {
        TRY(tutti_store_add(store, counter, 1, &sum, &error));
        if (i == 0) printf("ok");
        say_number(sum);
    }
    return TUTTI_OK;
}

static tutti_status do_check(void) {
    const char* wanted[MOST_WORDS] = {NULL};
    const size_t count = keys(1, 1, wanted);
    int32_t found = 0;
    TRY_AND_SAY(tutti_store_check(store, wanted, count, &found, &error), say_number(found));
    return TUTTI_OK;
}

static tutti_status do_wait(void) {
    const char* wanted[MOST_WORDS] = {NULL};
    const size_t count = keys(2, 1, wanted);
    tutti_store_call_options options = TUTTI_STORE_CALL_OPTIONS_INIT;
    options.timeout_ms = number(1);
    TRY_AND_SAY(tutti_store_wait(store, wanted, count, &options, &error), );
    return TUTTI_OK;
}

static tutti_status do_compare_set(void) {
    const text expected = decoded(2), desired = decoded(3);
    tutti_bytes* value = NULL;
    TRY_AND_SAY(tutti_store_compare_set(store, key(1), expected.bytes, expected.size, desired.bytes,
                                        desired.size, &value, &error),
                say_bytes(value));
    return TUTTI_OK;
}

static tutti_status do_delete_key(void) {
    int32_t deleted = 0;
    TRY_AND_SAY(tutti_store_delete_key(store, key(1), &deleted, &error), say_number(deleted));
    return TUTTI_OK;
}

static tutti_status do_multi_get(void) {
    const char* wanted[MOST_WORDS] = {NULL};
    tutti_bytes* values[MOST_WORDS];
    const size_t count = keys(1, 1, wanted);
    TRY_AND_SAY(tutti_store_multi_get(store, wanted, count, NULL, values, &error), );
    for (size_t i = 0; i < count; ++i) say_bytes(values[i]);
    return TUTTI_OK;
}

static tutti_status do_multi_set(void) {
    const char* names[MOST_WORDS] = {NULL};
    const void* values[MOST_WORDS];
    size_t sizes[MOST_WORDS];
    const size_t count = keys(1, 2, names);
    for (size_t i = 0; i < count; ++i) {
        const text value = decoded((int)(2 * i) + 2);
        values[i] = value.bytes;
        sizes[i] = value.size;
    }
    TRY_AND_SAY(tutti_store_multi_set(store, names, values, sizes, count, &error), );
    return TUTTI_OK;
}

static tutti_status do_num_keys(void) {
    int64_t count = 0;
    TRY_AND_SAY(tutti_store_num_keys(store, &count, &error), say_number(count));
    return TUTTI_OK;
}

static tutti_status do_list_keys(void) {
    static const char digits[] = "0123456789abcdef";
    tutti_bytes* names = NULL;
    int64_t count = 0;
    TRY_AND_SAY(tutti_store_list_keys(store, &names, &count, &error), );
    const char* name = (const char*)tutti_bytes_data(names);
    for (int64_t i = 0; i < count; ++i, ++name) {
        putchar(' ');
        if (*name == '\0') putchar('-');
        for (; *name != '\0'; ++name)
            printf("%c%c", digits[(unsigned char)*name >> 4], digits[*name & 15]);
    }
    tutti_bytes_release(names);
    return TUTTI_OK;
}

static tutti_status do_queue_push(void) {
    const text value = decoded(2);
    TRY_AND_SAY(tutti_store_queue_push(store, key(1), value.bytes, value.size, &error), );
    return TUTTI_OK;
}

static tutti_status do_queue_pop(void) {
    tutti_bytes* value = NULL;
    TRY_AND_SAY(tutti_store_queue_pop(store, key(1), 1, NULL, &value, &error), say_bytes(value));
    return TUTTI_OK;
}

static tutti_status do_queue_len(void) {
    int64_t length = 0;
    TRY_AND_SAY(tutti_store_queue_len(store, key(1), &length, &error), say_number(length));
    return TUTTI_OK;
}

static tutti_status do_barrier(void) {
    TRY_AND_SAY(tutti_store_barrier(store, key(1), (int32_t)number(2), NULL, &error), );
    return TUTTI_OK;
}

static tutti_status do_clone(void) {
    tutti_store* other = NULL;
    TRY_AND_SAY(tutti_store_clone(store, NULL, &other, &error), );
    if (store != opened) tutti_store_release(store);
    store = other;
    return TUTTI_OK;
}

static tutti_status do_operations(void) {
    printf("ok set get add append check wait compare_set delete_key multi_get multi_set num_keys");
    printf(" list_keys queue_push queue_pop queue_len barrier clone");
    return TUTTI_OK;
}

typedef tutti_status (*action)(void);
static const struct {
    const char* name;
    action act;
} commands[] = {
    {"serve", do_serve},
    {"serve_at", do_serve_at},
    {"connect", do_connect},
    {"file", do_file},
    {"prefix", do_prefix},
    {"close", do_close},
    {"operations", do_operations},
    {"timeout", do_timeout},
    {"set", do_set},
    {"get", do_get},
    {"add", do_add},
    {"add_many", do_add_many},
    {"append", do_append},
    {"check", do_check},
    {"wait", do_wait},
    {"compare_set", do_compare_set},
    {"delete_key", do_delete_key},
    {"multi_get", do_multi_get},
    {"multi_set", do_multi_set},
    {"num_keys", do_num_keys},
    {"list_keys", do_list_keys},
    {"queue_push", do_queue_push},
    {"queue_pop", do_queue_pop},
    {"queue_len", do_queue_len},
    {"barrier", do_barrier},
    {"clone", do_clone},
};

static action find(const char* name) {
    for (size_t i = 0; i < sizeof commands / sizeof *commands; ++i)
        if (strcmp(commands[i].name, name) == 0) return commands[i].act;
    die(name);
    return NULL;
}

static void take_apart(char* line) {
    word_count = 0;
    for (char* word = strtok(line, " \n"); word != NULL; word = strtok(NULL, " \n")) {
        if (word_count == MOST_WORDS) die("too many words");
        words[word_count++] = (text){word, strlen(word)};
    }
    if (word_count == 0) die("an empty command");
}

int main(void) {
    char* line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        take_apart(line);
        tutti_error_init(&error, sizeof error);
        const tutti_status status = find(words[0].bytes)();
        if (status != TUTTI_OK)
            printf("error %s %s", status == TUTTI_ERR_TIMEOUT ? "timeout" : "other", error.message);
        putchar('\n');
        fflush(stdout);
    }
    forget();
    free(line);
    return 0;
}
