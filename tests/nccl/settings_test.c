/* Settings behind the name of the backend, and the name of the group, reach NCCL, if it has them.
 * The double of NCCL says what it was given. */
#include <string.h>

#include "rank_program.h"

/* Whether the double has these words, each with a blank around it. */
static void expect_config(const char* wanted) {
    char all[512];
    char word[128];
    (void)snprintf(all, sizeof all, " %s ", fake_nccl_config());
    while (*wanted != '\0') {
        const size_t length = strcspn(wanted, "&");
        (void)snprintf(word, sizeof word, " %.*s ", (int)length, wanted);
        if (strstr(all, word) == NULL) {
            fprintf(stderr, "no \"%s\" in \"%s\"\n", word, all);
            exit(1);
        }
        wanted += length + (wanted[length] == '&');
    }
}

static void sum_up(tutti_group* group) {
    int32_t* const memory = numbers_of(3, 7);
    const tutti_buffer buffer = on_cuda(device, memory, 3, TUTTI_INT32);
    OK(tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me.error));
    EXPECT(all_are(memory, 3, 7));
    cuda_free(memory);
}

/* The words of `wanted` are joined by "&"; a version that has no names gets none. */
static void all_reach_nccl(const char* backend, const char* name, const char* wanted,
                           int is_bound) {
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    tutti_group* group = NULL;
    char comm_name[64];
    (void)snprintf(comm_name, sizeof comm_name, "comm_name=%s", name);
    if (is_bound) options.device_type = TUTTI_CUDA, options.device_index = device;
    OK(tutti_new_group(TUTTI_GROUP_WORLD, NULL, 0, backend, name, &options, &group, &me.error));
    sum_up(group);
    expect_config(wanted);
    const int has_name = strstr(getenv("TUTTI_NCCL_LIBRARY"), "/2.19.") == NULL;
    if (has_name) expect_config(comm_name);
    EXPECT(has_name || strstr(fake_nccl_config(), "comm_name") == NULL);
    OK(tutti_destroy_process_group(group, NULL, &me.error));
    tutti_group_release(group);
}

/* nccl_settings_test SETTINGS WANTED: what follows "nccl?", and what NCCL gets of it. */
int main(int argc, char** argv) {
    char backend[256];
    tutti_error_init(&me.error, sizeof me.error);
    tutti_store* store = NULL;
    if (argc != 3) return 2;
    OK(tutti_hash_store_create(&store, &me.error));
    OK(tutti_init_process_group_with_store("gloo", store, NULL, 0, 1, NULL, &me.error));
    tutti_store_release(store);
    me.size = 1;
    device = use_device(&me);
    (void)snprintf(backend, sizeof backend, "nccl?%s", argv[1]);
    for (int is_bound = 0; is_bound < 2; ++is_bound) {
        all_reach_nccl(backend, "layers", argv[2], is_bound);
        all_reach_nccl(backend, "experts", argv[2], is_bound);
    }
    OK(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &me.error));
    return 0;
}
