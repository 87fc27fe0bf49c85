/* The smallest program of a group: the ranks meet, add one number and part. Prints how long the
 * meeting and the parting took, in milliseconds, and how many threads and descriptors the rank had
 * between them. Under tuttirun; start.py adds up. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <tutti/tutti.h>

#include "support/timing.h"

static int entries_of(const char* path) {
    DIR* folder = opendir(path);
    if (folder == NULL) return -1;
    int count = 0;
    for (const struct dirent* entry = readdir(folder); entry; entry = readdir(folder)) {
        count += entry->d_name[0] != '.';
    }
    closedir(folder);
    return count;
}

static int fail(const tutti_error* error) {
    fprintf(stderr, "%s: %s\n", tutti_status_name(error->status), error->message);
    return 1;
}

int main(void) {
    tutti_error error = TUTTI_ERROR_INIT;
    const double began = now_us();
    if (tutti_init_process_group(NULL, "env://", NULL, -1, -1, NULL, &error)) return fail(&error);
    const double met = now_us();
    double sum = 1;
    tutti_buffer buffer = TUTTI_BUFFER_INIT(&sum, 1, TUTTI_FLOAT64);
    if (tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error)) {
        return fail(&error);
    }
    const int threads = entries_of("/proc/self/task");
    const int descriptors = entries_of("/proc/self/fd") - 1; /* but the folder's own */
    const double parts = now_us();
    if (tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error)) return fail(&error);
    printf("start %.3f %.3f %d %d\n", (met - began) / 1e3, (now_us() - parts) / 1e3, threads,
           descriptors);
    return 0;
}
