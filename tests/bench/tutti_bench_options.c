/* The options of tutti-bench: reads the command line. */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "numbers.h"
#include "tutti_bench.h"

void refuse(const char* format, ...) {
    va_list values;
    va_start(values, format);
    fputs("tutti-bench: ", stderr);
    vfprintf(stderr, format, values);
    fputs("; see tutti-bench --help\n", stderr);
    va_end(values);
    exit(2);
}

/* Calls a function for each word of a list with commas between. */
static void each_word(const char* option, const char* list, options* out,
                      void (*take)(const char* option, const char* word, options* out)) {
    char* const copy = strdup(list);
    char* rest = copy;
    if (copy == NULL) refuse("there is no memory");
    for (const char* word; (word = strsep(&rest, ",")) != NULL;) {
        if (*word == '\0') refuse("%s %s: a word is missing", option, list);
        take(option, word, out);
    }
    free(copy);
}

static int64_t read_number(const char* option, const char* text, int64_t least, int64_t most) {
    char* end = NULL;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < least || number > most)
        refuse("%s %s: must be a number from %lld to %lld", option, text, (long long)least,
               (long long)most);
    return number;
}

static void take_ranks(const char* option, const char* word, options* out) {
    if (out->rank_count == MOST_RANK_COUNTS) refuse("%s: more than %d", option, MOST_RANK_COUNTS);
    out->ranks[out->rank_count++] = (int)read_number(option, word, 1, MOST_RANKS);
}

static int64_t read_size(const char* option, const char* text, size_t length) {
    static const char units[] = "kmg";
    char digits[24];
    int shift = 0;
    if (length > 1 && length < sizeof digits) {
        const char* const unit = strchr(units, text[length - 1] | 0x20);
        if (unit != NULL) {
            shift = 10 * (int)(unit - units + 1);
            --length;
        }
    }
    if (length == 0 || length >= sizeof digits) refuse("%s %s: must be bytes", option, text);
    memcpy(digits, text, length);
    digits[length] = '\0';
    return read_number(option, digits, 1, ((int64_t)1 << 36) >> shift) << shift;
}

static void add_size(const char* option, int64_t size, options* out) {
    if (out->size_count == MOST_SIZES) refuse("%s: more than %d", option, MOST_SIZES);
    out->sizes[out->size_count++] = size;
}

static void take_sizes(const char* option, const char* word, options* out) {
    const char* const colon = strchr(word, ':');
    const size_t length = colon == NULL ? strlen(word) : (size_t)(colon - word);
    const int64_t first = read_size(option, word, length);
    const int64_t last = colon == NULL ? first : read_size(option, colon + 1, strlen(colon + 1));
    if (last < first) refuse("%s %s: the last is below the first", option, word);
    for (int64_t size = first; size < last; size *= 4) add_size(option, size, out);
    add_size(option, last, out);
}

static void add_operation(const char* option, const cell* found, options* out) {
    cell one = *found;
    const int count = one.op->of == ON_OBJECTS && one.value == NULL ? object_value_count : 1;
    for (int i = 0; i < count; ++i) {
        if (out->operation_count == MOST_OPERATIONS) refuse("%s: too many", option);
        if (count > 1) one.value = object_values[i];
        out->operations[out->operation_count++] = one;
    }
}

static void take_operation(const char* option, const char* word, options* out) {
    cell found = {NULL, BLOCKING, NULL, 0, FLOAT32, 0, 0, NULL, NULL};
    if (strcmp(word, "all") == 0) {
        out->everything = 1;
        for (int i = 0; i < operation_count; ++i) {
            found.op = &operations[i];
            add_operation(option, &found, out);
        }
        return;
    }
    if (!find_operation(word, &found)) refuse("%s %s: there is no such operation", option, word);
    if (found.value != NULL) {
        const char* const named = found.value;
        const int of_objects = found.op->of == ON_OBJECTS;
        const char* const* const values = of_objects ? object_values : exchange_values;
        const int count = of_objects ? object_value_count : exchange_value_count;
        found.value = NULL;
        for (int i = 0; i < count; ++i)
            if (strcmp(values[i], named) == 0) found.value = values[i];
        if (found.value == NULL)
            refuse("%s %s: there is no such value, only %s, %s, %s and %s", option, word, values[0],
                   values[1], values[2], values[3]);
    }
    add_operation(option, &found, out);
}

static void read_type(const char* option, const char* name, options* out) {
    out->element = find_element_type(name);
    if (out->element < 0) refuse("%s %s: there is no such dtype", option, name);
}

static void read_data(const char* option, const char* name, options* out) {
    out->data = find_data(name);
    if (out->data < 0) refuse("%s %s: must be whole, ordinary, spread or extreme", option, name);
}

static void read_memory(const char* option, const char* which, options* out) {
    if (which != NULL && strcmp(which, "both") != 0)
        refuse("%s=%s: must be %s or %s=both", option, which, option, option);
    out->memory = which == NULL ? ALLOCATED : PRIVATE | ALLOCATED;
}

static void check_other(const char* option, const char* word, options* out) {
    static const char* const known[] = {"openmpi",   "mpich",   "both",    "openmpi-tcp",
                                        "mpich-tcp", "pytorch", "sockets", "plain"};
    int is_known = 0;
    for (size_t index = 0; index < sizeof known / sizeof *known; ++index)
        if (strcmp(word, known[index]) == 0) is_known = 1;
    if (!is_known)
        refuse(
            "%s %s: must be openmpi, mpich, both of them, openmpi-tcp, mpich-tcp, pytorch, "
            "sockets or plain",
            option, word);
    if (strcmp(word, "plain") == 0) out->plain = 1;
}

static void set_defaults(options* out) {
    if (out->operation_count == 0)
        each_word("--op",
                  "all_reduce,broadcast,reduce,reduce_scatter,all_gather,all_to_all,barrier,"
                  "sendrecv_pingpong",
                  out, take_operation);
    out->ranks_given = out->rank_count > 0;
    if (out->rank_count == 0) each_word("--ranks", "2,4", out, take_ranks);
    if (out->size_count == 0) each_word("--sizes", "8,1K,16K,256K,1M,16M,64M", out, take_sizes);
}

void check_ranks(const options* all, int ranks) {
    for (int i = 0; i < all->operation_count && !all->everything; ++i)
        if (all->operations[i].op->kind == EXCHANGE_CALL && !suits(&all->operations[i], ranks))
            refuse("--op %s: needs %s, not %d", all->operations[i].op->name,
                   ranks_for(&all->operations[i]), ranks);
}

static void check(const options* all) {
    const element_type* const type = &element_types[all->element];
    for (int i = 0; i < all->size_count; ++i)
        if (all->sizes[i] % (int64_t)type->size != 0)
            refuse("--sizes: %lld bytes are not whole elements of %s", (long long)all->sizes[i],
                   type->name);
    if (!has_data(all->data, all->element))
        refuse("--data %s: must be of float32 or float64", data_kinds[all->data]);
    /* In place, their sums grow; and the halo exchange has numbers of its own. */
    for (int i = 0; i < all->operation_count && all->data != WHOLE; ++i)
        if ((uses_tensor(&all->operations[i]) && !has_size(&all->operations[i])) ||
            all->operations[i].op->kind == HALO2D)
            refuse("--data %s: not for %s", data_kinds[all->data], all->operations[i].op->name);
    for (int i = 0; i < all->rank_count && getenv("RANK") == NULL; ++i)
        check_ranks(all, all->ranks[i]);
    if (all->plain && !all->reproducible) refuse("--against plain needs --reproducible");
    if (all->against == NULL && all->judge) refuse("--judge needs --against");
    if ((all->against != NULL || all->plot != NULL) && getenv("RANK") != NULL)
        refuse("--against and --plot start ranks themselves, and RANK says that one was started");
}

static const struct option known_options[] = {
    {"op", 1, NULL, 'o'},           {"ranks", 1, NULL, 'n'},   {"sizes", 1, NULL, 's'},
    {"dtype", 1, NULL, 'd'},        {"backend", 1, NULL, 'b'}, {"iterations", 1, NULL, 'i'},
    {"rewrite", 0, NULL, 'w'},      {"csv", 1, NULL, 'c'},     {"against", 1, NULL, 'a'},
    {"plot", 1, NULL, 'p'},         {"rounds", 1, NULL, 'r'},  {"patience", 1, NULL, 'q'},
    {"judge", 0, NULL, 'j'},        {"help", 0, NULL, 'h'},    {"version", 0, NULL, 'v'},
    {"reproducible", 0, NULL, 'e'}, {"unbound", 0, NULL, 'u'}, {"ways", 0, NULL, 'y'},
    {"data", 1, NULL, 'k'},         {"alloc", 2, NULL, 'm'},   {NULL, 0, NULL, 0},
};

static void read_iterations(const char* text, options* out) {
    const int by_time = strcmp(text, "auto") == 0;
    out->how.iterations = by_time ? 0 : read_number("--iterations", text, 1, 10000000);
}

/* Options without a value. */
static int read_flag(int option, options* out) {
    switch (option) {
        case 'e':
            return out->reproducible = 1;
        case 'u':
            return out->unbound = 1;
        case 'w':
            return out->how.rewrite = 1;
        case 'y':
            return out->ways = 1;
        case 'j':
            return out->judge = 1;
        default:
            return 0;
    }
}

static void read_option(int option, const char* value, options* out) {
    if (read_flag(option, out)) return;
    switch (option) {
        case 'o':
            each_word("--op", value, out, take_operation);
            break;
        case 'n':
            each_word("--ranks", value, out, take_ranks);
            break;
        case 's':
            each_word("--sizes", value, out, take_sizes);
            break;
        case 'd':
            read_type("--dtype", value, out);
            break;
        case 'm':
            read_memory("--alloc", value, out);
            break;
        case 'k':
            read_data("--data", value, out);
            break;
        case 'b':
            out->backend = value;
            break;
        case 'i':
            read_iterations(value, out);
            break;
        case 'c':
            out->csv = value;
            break;
        case 'a':
            out->against = value;
            each_word("--against", value, out, check_other);
            break;
        case 'p':
            out->plot = value;
            break;
        case 'r':
            out->rounds = (int)read_number("--rounds", value, 1, 1000);
            break;
        case 'q':
            out->patience = (int)read_number("--patience", value, 0, 1000);
            break;
        case 'h':
            fputs(usage_text, stdout);
            exit(0);
        case 'v':
            printf("tutti-bench %s\n", tutti_version_string());
            exit(0);
        default:
            fputs("see tutti-bench --help\n", stderr);
            exit(2);
    }
}

void read_options(int argc, char** argv, options* out) {
    memset(out, 0, sizeof *out);
    out->element = FLOAT32;
    out->memory = PRIVATE;
    out->rounds = 5;
    out->patience = 10;
    for (int option; (option = getopt_long(argc, argv, "", known_options, NULL)) != -1;)
        read_option(option, optarg, out);
    if (optind < argc) refuse("\"%s\" is no option", argv[optind]);
    set_defaults(out);
    check(out);
}
