/* The command line of tutti-conformance. */
#include "arguments.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/seed.h"

static const char usage[] =
    "usage: tutti-conformance BACKEND [argument...]\n"
    "       tutti-conformance --store STORE [processes] [ranks N]\n"
    "\n"
    "Tries whether a backend of tutti, or a store, does what tutti's headers promise. Every\n"
    "collective, dtype, op, size, number of ranks, root, place of the result, synchronous or not,\n"
    "is a cell. Each cell is compared with a sequential reference. A table shows how many cells\n"
    "passed, were refused as they must be, and failed. With --store it is every call of a store.\n"
    "Backends and stores of libraries libtutti-NAME.so are found by their names.\n"
    "\n"
    "  tutti-conformance shm\n"
    "  tutti-conformance mailbox may-refuse ranks 3 only all_reduce\n"
    "  tuttirun --nproc-per-node 4 tutti-conformance mailbox may-refuse processes\n"
    "  tutti-conformance --store folder:/tmp/keys ranks 4\n"
    "\n"
    "The ranks\n"
    "  ranks N              number of ranks, which are threads (1 to 5, one after the other)\n"
    "  processes            ranks are processes, which tuttirun or mpirun has started\n"
    "  part                 the ranks are a group that was made from a larger one\n"
    "  store NAME:ADDRESS   ranks that are threads meet at this store\n"
    "\n"
    "The cells\n"
    "  full                 every cell; without it every dtype and op, and every pair of the\n"
    "                       other values\n"
    "  only COLLECTIVE      cells of one collective\n"
    "  lacks NAME/NAME...   collectives, dtypes and ops that the backend must refuse;\n"
    "                       byte_bools: reduce no bools but 0 and 1;\n"
    "                       single_rounding: sums may be rounded on the way\n"
    "  may-refuse           the backend may refuse any cell\n"
    "  seed N               choose the pairs by this number, which is printed\n"
    "\n"
    "The data\n"
    "  shared               are in memory of tutti_memory_alloc\n"
    "  mixed                are there on every other rank\n"
    "  cuda                 are on CUDA devices\n"
    "\n"
    "The store is hash, file:PATH, tcp:HOST:PORT, NAME:ADDRESS of a library, or prefix: and one\n"
    "of these.\n"
    "\n"
    "  --help               show this text\n"
    "  --version            show the version\n"
    "\n"
    "The exit status is 0 if nothing failed, 1 if something did, 2 if the arguments are wrong, 77\n"
    "if there is no CUDA device.\n";

static void refuse(const char* format, ...) {
    va_list values;
    va_start(values, format);
    fputs("tutti-conformance: ", stderr);
    (void)vfprintf(stderr, format, values);
    fputs("; see tutti-conformance --help\n", stderr);
    va_end(values);
    exit(2);
}

static const char* read_text(const char* argument, const char* text) {
    if (text == NULL) refuse("%s: a value is missing", argument);
    return text;
}

static uint64_t read_number(const char* argument, const char* text, uint64_t least, uint64_t most) {
    char* end = NULL;
    errno = 0;
    const unsigned long long value = strtoull(read_text(argument, text), &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *text == '-' || value < least || value > most)
        refuse("%s %s: must be a number from %llu to %llu", argument, text,
               (unsigned long long)least, (unsigned long long)most);
    return value;
}

static const char* read_collective(const char* argument, const char* text) {
    int i = 0;
    while (i < collective_count && strcmp(collectives[i].name, read_text(argument, text)) != 0) ++i;
    if (i == collective_count) refuse("%s %s: no collective has this name", argument, text);
    return text;
}

/* Whether the argument is one that stands alone. */
static int take_word(const char* word, settings* out) {
    if (strcmp(word, "full") == 0) return out->is_full = 1;
    if (strcmp(word, "part") == 0) return out->is_part = 1;
    if (strcmp(word, "processes") == 0) return out->is_of_processes = 1;
    if (strcmp(word, "cuda") == 0) return out->is_on_device = 1;
    if (strcmp(word, "may-refuse") == 0) return out->may_refuse = 1;
    if (strcmp(word, "shared") == 0) return out->memory = SHARED, 1;
    if (strcmp(word, "mixed") == 0) return out->memory = MIXED, 1;
    return 0;
}

/* Whether the argument is one that a value follows. */
static int take_pair(const char* word, const char* value, settings* out) {
    if (strcmp(word, "seed") == 0) {
        out->seed = read_number(word, value, 0, UINT64_MAX);
    } else if (strcmp(word, "ranks") == 0) {
        out->fewest = out->most = (int32_t)read_number(word, value, 1, MOST_RANKS);
    } else if (strcmp(word, "only") == 0) {
        out->only = read_collective(word, value);
    } else if (strcmp(word, "lacks") == 0) {
        out->lacks = read_text(word, value);
    } else if (strcmp(word, "store") == 0) {
        run_ranks_store = read_text(word, value);
    } else if (strcmp(word, "--store") == 0) {
        out->store = read_text(word, value);
    } else {
        return 0;
    }
    return 1;
}

settings read_arguments(int argc, char** argv) {
    settings chosen = {NULL, NULL, "", NULL, 1, MOST_RANKS, test_seed(), 0, 0, 0, 0, 0, OWN};
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            exit(0);
        } else if (strcmp(argv[i], "--version") == 0) {
            printf("tutti-conformance %s\n", tutti_version_string());
            exit(0);
        } else if (take_pair(argv[i], argv[i + 1], &chosen)) {
            ++i;
        } else if (!take_word(argv[i], &chosen)) {
            if (argv[i][0] == '-') refuse("%s: there is no such option", argv[i]);
            if (chosen.backend != NULL) refuse("%s: the backend is %s", argv[i], chosen.backend);
            chosen.backend = argv[i];
        }
    }
    if (chosen.backend == NULL && chosen.store == NULL) refuse("name a backend, or a --store");
    if (chosen.backend != NULL && chosen.store != NULL) {
        refuse("%s and --store %s: only one can be tried", chosen.backend, chosen.store);
    }
    if (chosen.is_part && chosen.is_of_processes) refuse("part and processes exclude each other");
    return chosen;
}
