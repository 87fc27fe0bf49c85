/* libtutti-wrong_store.so, a library for tests: the store of examples/ext that is a folder, but its
 * delete_key says of every key that it was there. */
#define tutti_module_get right_module_get
#include "examples/ext/folder_store.c"
#undef tutti_module_get

static tutti_status wrong_delete(void* store, const tutti_slice* key, int32_t* out_deleted,
                                 tutti_error* error) {
    const tutti_status status = delete_key(store, key, out_deleted, error);
    *out_deleted = 1;
    return status;
}

TUTTI_API const tutti_module* tutti_module_get(uint32_t host_version);
TUTTI_API const tutti_module* tutti_module_get(uint32_t host_version) {
    static tutti_store_table wrong;
    static tutti_module all;
    wrong = table;
    wrong.name = "wrong_store";
    wrong.delete_key = wrong_delete;
    all = *right_module_get(host_version);
    all.store = &wrong;
    all.rendezvous = NULL;
    return &all;
}
