/* Hands what compares and draws to against.py, which calls this program for its share. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "numbers.h"
#include "tutti_bench.h"

enum { MOST_ARGUMENTS = 48, MOST_LETTERS = 4096 };

static const char* arguments[MOST_ARGUMENTS + 1]; /* ends with NULL */
static int argument_count;

static void add(const char* argument) {
    if (argument_count < MOST_ARGUMENTS) arguments[argument_count++] = argument;
}

static void add_option(const char* name, const char* value) {
    add(name);
    add(value == NULL ? "" : value);
}

static void add_flag(int is_set, const char* name) {
    if (is_set) add(name);
}

/* Appends words, with commas between. */
static void append(char* list, const char* word) {
    const size_t used = strlen(list);
    snprintf(list + used, MOST_LETTERS - used, "%s%s", used > 0 ? "," : "", word);
}

static void append_number(char* list, int64_t number) {
    char word[24];
    snprintf(word, sizeof word, "%lld", (long long)number);
    append(list, word);
}

static void add_lists(const options* asked) {
    static char names[MOST_LETTERS], ranks[MOST_LETTERS], sizes[MOST_LETTERS];
    char word[64];
    for (int i = 0; i < asked->operation_count; ++i) {
        cell_name(&asked->operations[i], word, sizeof word);
        append(names, word);
    }
    for (int i = 0; i < asked->rank_count; ++i) append_number(ranks, asked->ranks[i]);
    for (int i = 0; i < asked->size_count; ++i) append_number(sizes, asked->sizes[i]);
    add_option("--op", names);
    add_option("--ranks", ranks);
    add_option("--sizes", sizes);
}

static void add_numbers(const options* asked) {
    static char iterations[24], rounds[24], patience[24];
    snprintf(iterations, sizeof iterations, "%lld", (long long)asked->how.iterations);
    snprintf(rounds, sizeof rounds, "%d", asked->rounds);
    snprintf(patience, sizeof patience, "%d", asked->patience);
    add_option("--iterations", iterations);
    add_option("--rounds", rounds);
    add_option("--patience", patience);
}

/* Near the program, as in the build and in a tree that was moved; else where it is installed. */
static void find_driver(const char* folder, char* driver, size_t size) {
    snprintf(driver, size, "%s/../share/tutti/bench/against.py", folder);
    if (access(driver, R_OK) == 0) return;
    const char* const installed = TUTTI_BENCH_SCRIPTS;
    const int is_absolute = installed[0] == '/';
    snprintf(driver, size, "%s%s%s/against.py", is_absolute ? "" : folder, is_absolute ? "" : "/",
             installed);
}

void become_driver(const options* asked) {
    static char self[4096], driver[8400];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char* const slash = length > 0 ? strrchr(self, '/') : NULL;
    if (slash == NULL) refuse("/proc/self/exe cannot be read, it tells where against.py is");
    *slash = '\0';
    find_driver(self, driver, sizeof driver);
    *slash = '/';
    add_option("python3", "-B");
    add_option(driver, self);
    add_lists(asked);
    add_numbers(asked);
    add_option("--dtype", element_types[asked->element].name);
    add_option("--data", data_kinds[asked->data]);
    add_option("--memory", asked->memory == PRIVATE     ? "private"
                           : asked->memory == ALLOCATED ? "alloc"
                                                        : "both");
    add_option("--against", asked->against);
    add_option("--backend", asked->backend);
    add_option("--csv", asked->csv);
    add_option("--plot", asked->plot);
    add("--flags");
    add_flag(asked->how.rewrite, "rewrite");
    add_flag(asked->reproducible, "reproducible");
    add_flag(asked->unbound, "unbound");
    add_flag(asked->ways, "ways");
    add_flag(asked->judge, "judge");
    execvp("python3", (char* const*)(uintptr_t)arguments);
    refuse("--against and --plot need python3: %s", strerror(errno));
}
