/* A rank that waits, or whose others do not let it wait; the environment of env:// tells which.
 *     tutti_waiting_peer loop COUNT     COUNT all_reduces of 8 bytes, one after the other
 *     tutti_waiting_peer wait BYTES     one of so many bytes, for which rank 0 comes when it has
 *                                       read a line; the others print how many seconds they were
 *                                       in it, and the processor's seconds they used meanwhile
 *     tutti_waiting_peer idle           none: from one line that it reads to the next, prints how
 *                                       many seconds that took, the processor's seconds it used
 *                                       meanwhile, how often it wrote to a connection or file, and
 *                                       how many bytes */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <tutti/tutti.h>

#include "support/timing.h"

enum { WARM_UPS = 1000 };

static tutti_error error = TUTTI_ERROR_INIT;

static int all_reduce(const tutti_buffer* buffer) {
    if (tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, buffer, TUTTI_MAX, NULL, NULL, &error) ==
        TUTTI_OK)
        return 1;
    fprintf(stderr, "tutti_waiting_peer: %s\n", error.message);
    return 0;
}

static double seconds(const struct timeval* time) {
    return (double)time->tv_sec + (double)time->tv_usec * 1e-6;
}

/* The processor time of all threads. */
static double processor_time(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return seconds(&used.ru_utime) + seconds(&used.ru_stime);
}

static int wait_once(const tutti_buffer* buffer) {
    char line[16];
    puts("ready");
    fflush(stdout);
    if (tutti_get_rank(TUTTI_GROUP_WORLD) == 0 && fgets(line, sizeof line, stdin) == NULL) return 0;
    const double began = now_s(), used = processor_time();
    if (!all_reduce(buffer)) return 0;
    printf("%.6f %.6f\n", now_s() - began, processor_time() - used);
    return 1;
}

/* For all threads, as the kernel counts it. */
static long written(const char* what) {
    char line[64];
    long count = -1;
    FILE* file = fopen("/proc/self/io", "r");
    while (file != NULL && count < 0 && fgets(line, sizeof line, file) != NULL) {
        const size_t length = strlen(what);
        if (strncmp(line, what, length) == 0) count = strtol(line + length, NULL, 10);
    }
    if (file != NULL) fclose(file);
    return count;
}

static int idle(void) {
    char line[16];
    puts("ready");
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) == NULL) return 0;
    const double began = now_s(), used = processor_time();
    const long writes = written("syscw:"), bytes = written("wchar:");
    if (fgets(line, sizeof line, stdin) == NULL) return 0;
    printf("%.6f %.6f %ld %ld\n", now_s() - began, processor_time() - used,
           written("syscw:") - writes, written("wchar:") - bytes);
    return 1;
}

int main(int argc, char** argv) {
    const int idles = argc == 2 && strcmp(argv[1], "idle") == 0;
    if (argc != 3 && !idles) {
        fputs("usage: tutti_waiting_peer loop COUNT | wait BYTES | idle\n", stderr);
        return 2;
    }
    const int waits = idles || strcmp(argv[1], "wait") == 0;
    const long given = idles ? 1 : strtol(argv[2], NULL, 10);
    const size_t bytes = waits ? (size_t)given : 8;
    char* const memory = (char*)calloc(bytes, 1);
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(memory, (int64_t)bytes, TUTTI_UINT8);
    if (memory == NULL) return 1;
    if (tutti_init_process_group(NULL, NULL, NULL, -1, -1, NULL, &error) != TUTTI_OK) {
        fprintf(stderr, "tutti_waiting_peer: %s\n", error.message);
        return 1;
    }
    for (int i = 0; i < WARM_UPS && (!waits || i < 2); ++i)
        if (!all_reduce(&buffer)) return 1;
    if (waits && !(idles ? idle() : wait_once(&buffer))) return 1;
    for (long i = 0; i < given && !waits; ++i)
        if (!all_reduce(&buffer)) return 1;
    free(memory);
    return tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error) != TUTTI_OK;
}
