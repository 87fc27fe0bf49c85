#include "peer.h"

#include <stdlib.h>
#include <string.h>

#include "numbers.h"

static void measure_one(const peer* it, const char* name, cell* of, const method* how) {
    const int rank = it->with.rank, ranks = it->with.ranks;
    char why[WHY];
    result measured;
    if (uses_tensor(of) && !set_contents(of, rank, ranks)) it->die("there is no memory");
    if (!measure(&it->with, of, how, &measured, why)) it->die(*why == '\0' ? "a call failed" : why);
    if (rank == 0) print_row(stdout, name, of, ranks, &measured, NULL);
}

void measure_all(const peer* it, int argc, char** argv) {
    const int ranks = it->with.ranks;
    cell now = {NULL, BLOCKING, NULL, 0, 0, 0, 0, NULL, NULL};
    if (argc != 8) it->die("usage: PEER OPERATIONS SIZES DTYPE DATA ITERATIONS REWRITE");
    const method how = {atoll(argv[6]), atoi(argv[7])};
    now.element = find_element_type(argv[4]);
    if (now.element < 0 || !it->takes(now.element)) it->die("it has no elements of this dtype");
    if (find_data(argv[5]) < 0) it->die("there is no such data");
    use_data(find_data(argv[5]));
    for (char *names = argv[2], *name; (name = strsep(&names, ",")) != NULL;) {
        if (!find_operation(name, &now)) it->die(name);
        if (!suits(&now, ranks)) continue;
        char* const list = strdup(argv[3]);
        char* sizes = list;
        for (char* size; (size = strsep(&sizes, ",")) != NULL;) {
            set_bytes(&now, atoll(size), ranks);
            measure_one(it, argv[1], &now, &how);
            if (!has_size(&now)) break;
        }
        free(list);
    }
    free_contents();
}
