/* A rank of C's beside ranks of PyTorch's with backend "tutti". Public headers only.
 *   tutti_torch_interop_peer PORT RANK SIZE differ|die|live
 * After three sums that must be right: "differ" and "live" call once more, with another size or the
 * same, and print what they were told, and when; "die" ends. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>

#include "interop/torch/peer.h"

int main(int argc, char** argv) {
    if (argc != 5) return 2;
    tutti_error_init(&error, sizeof error);
    const int rank = atoi(argv[2]), size = atoi(argv[3]);
    tutti_group* const group = meet(atoi(argv[1]), rank, size);
    for (int i = 0; i < 3; ++i) {
        float four[4] = {(float)rank + 1, 0, 0, (float)i};
        const tutti_buffer buffer = TUTTI_BUFFER_INIT(four, 4, TUTTI_FLOAT32);
        MUST(tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error));
        if (four[0] != (float)(size * (size + 1)) / 2 || four[3] != (float)(size * i)) return 3;
    }
    if (strcmp(argv[4], "die") == 0) {
        printf("died %d %.6f\n", rank, now_s());
        fflush(stdout);
        raise(SIGKILL);
    }
    float last[7] = {0};
    const int64_t count = strcmp(argv[4], "differ") == 0 ? 1 : 7;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(last, count, TUTTI_FLOAT32);
    const tutti_status status =
        tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error);
    printf("told %d %.6f %s %s\n", rank, now_s(), tutti_status_name(status), error.message);
    MUST(tutti_destroy_process_group(group, NULL, &error));
    tutti_group_release(group);
    return 0;
}
