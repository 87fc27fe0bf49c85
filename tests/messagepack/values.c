/* One value of every kind, for programs in other languages that read MessagePack.
 *   messagepack_values write            the value as MessagePack, to stdout
 *   messagepack_values read [KEY...]    reads it back from stdin, without these keys of its map;
 *                                       exits with 1 if it is another one, and shows both */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>

enum { room = 1 << 24 };
static tutti_error error = TUTTI_ERROR_INIT;

static void check(tutti_status status) {
    if (status == TUTTI_OK) return;
    fprintf(stderr, "%s: %s\n", tutti_status_name(status), error.message);
    exit(1);
}

/* Whether the key is wanted, which is then added. */
static int key(tutti_object* object, const char* name, int count, char** left_out) {
    int i;
    for (i = 0; i < count; ++i) {
        if (strcmp(left_out[i], name) == 0) return 0;
    }
    check(tutti_object_add_key(object, name, &error));
    return 1;
}

static void add_numbers(tutti_object* object, int count, char** left_out) {
    static const int64_t integers[] = {
        0,           1,         127,      128,        255,        256,
        65535,       65536,     -1,       -32,        -33,        -128,
        -129,        -32768,    -32769,   4294967295, 4294967296, -2147483647 - 1,
        -2147483649, INT64_MAX, INT64_MIN};
    static const double reals[] = {0.5, -0.0, 1e300, 5e-324, HUGE_VAL, -HUGE_VAL};
    if (key(object, "integers", count, left_out)) {
        check(tutti_object_begin_list(object, &error));
        check(tutti_object_add_elements(object, integers, sizeof integers / sizeof *integers,
                                        TUTTI_INT64, &error));
        check(tutti_object_end(object, &error));
    }
    if (key(object, "large", count, left_out)) {
        check(tutti_object_add_uint64(object, UINT64_MAX, &error));
    }
    if (key(object, "reals", count, left_out)) {
        check(tutti_object_begin_list(object, &error));
        check(tutti_object_add_elements(object, reals, sizeof reals / sizeof *reals, TUTTI_FLOAT64,
                                        &error));
        check(tutti_object_end(object, &error));
    }
}

static void add_texts(tutti_object* object, int count, char** left_out) {
    static char long_text[70000];
    unsigned char bytes[256];
    int i;
    for (i = 0; i < 256; ++i) bytes[i] = (unsigned char)i;
    memset(long_text, 'x', sizeof long_text);
    if (key(object, "text", count, left_out)) {
        const char* text =
            "gr\xc3\xbc\xc3\x9f"
            "e \xf0\x9f\x8e\xbb";
        check(tutti_object_add_string(object, text, TUTTI_NUL_TERMINATED, &error));
    }
    if (key(object, "long text", count, left_out)) {
        check(tutti_object_add_string(object, long_text, sizeof long_text, &error));
    }
    if (key(object, "bytes", count, left_out)) {
        check(tutti_object_add_bytes(object, bytes, sizeof bytes, 0, &error));
    }
}

static void add_times(tutti_object* object, int count, char** left_out) {
    if (!key(object, "times", count, left_out)) return;
    check(tutti_object_begin_list(object, &error));
    check(tutti_object_add_timestamp(object, 0, 0, &error));
    check(tutti_object_add_timestamp(object, 1700000000, 5, &error));
    check(tutti_object_add_timestamp(object, (int64_t)1 << 40, 999999999, &error));
    check(tutti_object_add_timestamp(object, -1, 7, &error));
    check(tutti_object_end(object, &error));
}

static void add_arrays(tutti_object* object, int count, char** left_out) {
    static const int16_t matrix[] = {1, -2, 3, 4, 5, -6};
    static const double column[] = {0.5, -1.5, 1e10};
    static const int64_t matrix_shape[] = {2, 3}, column_shape[] = {3, 1};
    if (key(object, "matrix", count, left_out)) {
        check(tutti_object_add_array(object, matrix, TUTTI_INT16, matrix_shape, 2, 0, &error));
    }
    if (key(object, "column", count, left_out)) {
        check(tutti_object_add_array(object, column, TUTTI_FLOAT64, column_shape, 2, 0, &error));
    }
}

static void add_containers(tutti_object* object, int count, char** left_out) {
    int i;
    if (key(object, "nil", count, left_out)) check(tutti_object_add_nil(object, &error));
    if (key(object, "bools", count, left_out)) {
        check(tutti_object_begin_list(object, &error));
        check(tutti_object_add_bool(object, 1, &error));
        check(tutti_object_add_bool(object, 0, &error));
        check(tutti_object_end(object, &error));
    }
    if (key(object, "empty", count, left_out)) {
        check(tutti_object_begin_list(object, &error));
        check(tutti_object_begin_list(object, &error));
        check(tutti_object_end(object, &error));
        check(tutti_object_begin_map(object, &error));
        check(tutti_object_end(object, &error));
        check(tutti_object_add_string(object, "", 0, &error));
        check(tutti_object_add_bytes(object, NULL, 0, 0, &error));
        check(tutti_object_end(object, &error));
    }
    if (key(object, "map", count, left_out)) {
        check(tutti_object_begin_map(object, &error));
        for (i = -40000; i <= 40000; i += 40000) {
            check(tutti_object_add_int64(object, i, &error));
            check(tutti_object_add_string(object, "value", TUTTI_NUL_TERMINATED, &error));
        }
        check(tutti_object_add_key(object, "key", &error));
        check(tutti_object_add_int64(object, 5, &error));
        check(tutti_object_end(object, &error));
    }
    if (key(object, "long list", count, left_out)) {
        check(tutti_object_begin_list(object, &error));
        for (i = 0; i < 70000; ++i) check(tutti_object_add_int64(object, i, &error));
        check(tutti_object_end(object, &error));
    }
}

static tutti_object* make(int count, char** left_out) {
    tutti_object* object = NULL;
    check(tutti_object_create(&object, &error));
    check(tutti_object_begin_map(object, &error));
    add_numbers(object, count, left_out);
    add_texts(object, count, left_out);
    add_times(object, count, left_out);
    add_arrays(object, count, left_out);
    add_containers(object, count, left_out);
    check(tutti_object_end(object, &error));
    return object;
}

static void show(const char* what, tutti_object* object) {
    tutti_bytes* json = NULL;
    check(tutti_object_to_json(object, 0, 0, 4000, &json, &error));
    fprintf(stderr, "%s %s\n", what, (const char*)tutti_bytes_data(json));
    tutti_bytes_release(json);
}

static int write_value(void) {
    tutti_object* object = make(0, NULL);
    tutti_bytes* bytes = NULL;
    size_t size;
    check(tutti_object_encode(object, NULL, &bytes, &error));
    size = fwrite(tutti_bytes_data(bytes), 1, tutti_bytes_size(bytes), stdout);
    size -= tutti_bytes_size(bytes);
    tutti_bytes_release(bytes);
    tutti_object_release(object);
    return size != 0;
}

static int read_value(int count, char** left_out) {
    tutti_object *wanted = make(count, left_out), *object = NULL;
    char* message = (char*)malloc(room);
    int32_t equal = 0;
    size_t size = message == NULL ? 0 : fread(message, 1, room, stdin);
    check(tutti_object_decode(message, size, NULL, &object, &error));
    check(tutti_object_equal(wanted, 0, object, 0, &equal, &error));
    if (!equal) {
        show("wanted", wanted);
        show("got   ", object);
    }
    tutti_object_release(object);
    tutti_object_release(wanted);
    free(message);
    return !equal;
}

int main(int argc, char** argv) {
    if (argc >= 2 && strcmp(argv[1], "read") == 0) return read_value(argc - 2, argv + 2);
    if (argc == 2 && strcmp(argv[1], "write") == 0) return write_value();
    fprintf(stderr, "usage: messagepack_values write | read [KEY...]\n");
    return 2;
}
