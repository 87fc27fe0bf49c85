/* Which way the backend took: what it says of a call in the log. */
#include <string.h>

#include "tutti_bench.h"

static char heard[WAY];

void read_way(const char* message, char* ways, size_t size) {
    char way[WAY] = "", padded[WAY + 2], all[WAY + 2];
    const size_t used = strlen(ways);
    if (sscanf(message, "%*[a-z]: %*s of %*d bytes goes %47[^,\n]", way) != 1) return;
    snprintf(padded, sizeof padded, "+%s+", way);
    snprintf(all, sizeof all, "+%s+", ways);
    if (strstr(all, padded) == NULL)
        snprintf(ways + used, size - used, "%s%s", used > 0 ? "+" : "", way);
}

/* On a thread of the library. */
static void hear(tutti_log_level level, const char* message, void* user) {
    (void)level;
    (void)user;
    read_way(message, heard, sizeof heard);
}

int find_way(const library* with, const cell* of, char* way) {
    *heard = '\0';
    if (!with->barrier()) return 0;
    if (with->rank == 0 &&
        tutti_set_log_callback(hear, NULL, NULL, TUTTI_LOG_TRACE, &failure) != TUTTI_OK)
        return 0;
    const int called = call_cell(with, of);
    if (with->after != NULL) with->after(of);
    /* Returns when all has been heard. */
    if (with->rank == 0 &&
        tutti_set_log_callback(NULL, NULL, NULL, TUTTI_LOG_OFF, &failure) != TUTTI_OK)
        return 0;
    snprintf(way, WAY, "%s", *heard == '\0' ? "-" : heard);
    return called;
}
