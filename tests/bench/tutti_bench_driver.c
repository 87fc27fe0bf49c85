/* Hands what compares and draws to against.py, which calls this program for its share. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tutti_bench.h"

/* Appends words, with commas between. */
static void append(char* list, size_t size, const char* word, const char* ending) {
    const size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%s%s", used > 0 ? "," : "", word, ending);
}

void become_driver(const options* asked) {
    static char self[4096], driver[4200], names[4096], ranks[256], sizes[2048];
    static char number[3][24];
    char word[64];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char* const slash = length > 0 ? strrchr(self, '/') : NULL;
    if (slash == NULL) refuse("/proc/self/exe cannot be read, it tells where against.py is");
    snprintf(driver, sizeof driver, "%.*s/../share/tutti/bench/against.py", (int)(slash - self),
             self);
    for (int i = 0; i < asked->operation_count; ++i) {
        const cell* const one = &asked->operations[i];
        snprintf(word, sizeof word, "%s%s%s%s", one->op->name, one->loop ? "_loop" : "",
                 one->value == NULL ? "" : ":", one->value == NULL ? "" : one->value);
        append(names, sizeof names, word, "");
    }
    for (int i = 0; i < asked->rank_count; ++i) {
        snprintf(word, sizeof word, "%d", asked->ranks[i]);
        append(ranks, sizeof ranks, word, "");
    }
    for (int i = 0; i < asked->size_count; ++i) {
        snprintf(word, sizeof word, "%lld", (long long)asked->sizes[i]);
        append(sizes, sizeof sizes, word, "");
    }
    snprintf(number[0], sizeof *number, "%lld", (long long)asked->how.iterations);
    snprintf(number[1], sizeof *number, "%d", asked->rounds);
    snprintf(number[2], sizeof *number, "%d", asked->patience);
    const char* const arguments[] = {"python3",
                                     "-B",
                                     driver,
                                     self,
                                     "--op",
                                     names,
                                     "--ranks",
                                     ranks,
                                     "--sizes",
                                     sizes,
                                     "--dtype",
                                     element_types[asked->element].name,
                                     "--iterations",
                                     number[0],
                                     "--rounds",
                                     number[1],
                                     "--patience",
                                     number[2],
                                     "--against",
                                     asked->against == NULL ? "" : asked->against,
                                     "--backend",
                                     asked->backend == NULL ? "" : asked->backend,
                                     "--csv",
                                     asked->csv == NULL ? "" : asked->csv,
                                     "--plot",
                                     asked->plot == NULL ? "" : asked->plot,
                                     "--flags",
                                     asked->how.rewrite ? "rewrite" : "",
                                     asked->reproducible ? "reproducible" : "",
                                     asked->unbound ? "unbound" : "",
                                     asked->ways ? "ways" : "",
                                     asked->judge ? "judge" : "",
                                     NULL};
    execvp("python3", (char* const*)(uintptr_t)arguments);
    refuse("--against and --plot need python3: %s", strerror(errno));
}
