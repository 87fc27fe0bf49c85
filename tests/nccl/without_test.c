/* Where something is missing no group is made over it, and one sentence says what it is. The
 * arguments are the backend, and what the sentence contains. */
#include <stdio.h>
#include <string.h>
#include <tutti/tutti.h>

int main(int argc, char** argv) {
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_store* store = NULL;
    if (argc < 3 || tutti_hash_store_create(&store, &error) != TUTTI_OK) return 2;
    const tutti_status status =
        tutti_init_process_group_with_store(argv[1], store, NULL, 0, 1, NULL, &error);
    tutti_store_release(store);
    printf("%s: %s\n", tutti_status_name(status), error.message);
    const int is_wrong = strchr(argv[1], '?') != NULL && strstr(argv[2], "needs NCCL") == NULL;
    const tutti_status wanted = is_wrong ? TUTTI_ERR_INVALID_ARGUMENT : TUTTI_ERR_UNSUPPORTED;
    const int is_right = status == wanted && strstr(error.message, argv[2]) != NULL &&
                         strchr(error.message, '\n') == NULL;
    return is_right ? 0 : 1;
}
