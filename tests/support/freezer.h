/* A control group that can be frozen, for a process or a few; root, and version 1 or 2 where they
 * are usually mounted. C and C++. */
#ifndef TUTTI_TESTS_FREEZER_H
#define TUTTI_TESTS_FREEZER_H

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

typedef struct freezer {
    char folder[128];
    int version; /* 0: there is none */
} freezer;

static inline int freezer_write(const freezer* group, const char* file, const char* text) {
    char path[192];
    snprintf(path, sizeof path, "%s/%s", group->folder, file);
    FILE* const out = fopen(path, "w");
    if (out == NULL) return 0;
    const int done = fputs(text, out) >= 0;
    return fclose(out) == 0 && done;
}

static inline int freezer_reads(const freezer* group, const char* file, const char* wanted) {
    char path[192], text[256];
    snprintf(path, sizeof path, "%s/%s", group->folder, file);
    FILE* const in = fopen(path, "r");
    if (in == NULL) return 0;
    const size_t length = fread(text, 1, sizeof text - 1, in);
    fclose(in);
    text[length] = '\0';
    return strstr(text, wanted) != NULL;
}

static inline freezer freezer_make(void) {
    static const char* const places[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified",
                                         "/sys/fs/cgroup/freezer"};
    static int made;
    freezer group;
    const int number = made++;
    for (int place = 0; place < 3; ++place) {
        snprintf(group.folder, sizeof group.folder, "%s/tutti-%ld-%d", places[place],
                 (long)getpid(), number);
        char file[192];
        if (mkdir(group.folder, 0755) != 0) continue;
        snprintf(file, sizeof file, "%s/cgroup.freeze", group.folder);
        group.version = access(file, W_OK) == 0 ? 2 : 0;
        snprintf(file, sizeof file, "%s/freezer.state", group.folder);
        if (group.version == 0 && access(file, W_OK) == 0) group.version = 1;
        if (group.version != 0) return group;
        rmdir(group.folder);
    }
    memset(&group, 0, sizeof group);
    return group;
}

static inline int freezer_take(const freezer* group, pid_t process) {
    char text[32];
    snprintf(text, sizeof text, "%ld", (long)process);
    return freezer_write(group, "cgroup.procs", text);
}

/* Returns 0 if it cannot be; is_frozen says when it is. */
static inline int freezer_freeze(const freezer* group, int freeze) {
    if (group->version == 2) return freezer_write(group, "cgroup.freeze", freeze ? "1" : "0");
    return freezer_write(group, "freezer.state", freeze ? "FROZEN" : "THAWED");
}

static inline int freezer_is_frozen(const freezer* group) {
    return group->version == 2 ? freezer_reads(group, "cgroup.events", "frozen 1")
                               : freezer_reads(group, "freezer.state", "FROZEN");
}

/* When its processes have ended; returns 0 as long as they have not. */
static inline int freezer_remove(const freezer* group) {
    return rmdir(group->folder) == 0;
}

#endif
