// tutti/ext.h: backends, stores and ways to meet from outside. Any thread.
#include "tutti/ext.h"

#include "backends/module/module.hpp"
#include "group/schemes.hpp"
#include "guard.hpp"
#include "handle.hpp"
#include "store.hpp"
#include "store/user_store.hpp"

namespace capi = tutti::capi;

extern "C" {

tutti_status tutti_backend_register(const tutti_backend_table* table, tutti_error* error) {
    return capi::guard<capi::ErrorPrefix::All>(__func__, error, [&] {
        const tutti_backend_table read = tutti::ext::read_table(table, "");
        tutti::ext::LoadedBackend backend = tutti::ext::backend_of(read);
        tutti::register_backend(read.name, std::move(backend.open), std::move(backend.can));
    });
}

tutti_status tutti_rendezvous_register(const tutti_rendezvous_table* table, tutti_error* error) {
    return capi::guard<capi::ErrorPrefix::All>(
        __func__, error, [&] { tutti::register_scheme(tutti::ext::read_table(table, "")); });
}

tutti_status tutti_store_create_user(const tutti_store_table* table, void* store,
                                     tutti_store** out_store, tutti_error* error) {
    return capi::guard<capi::ErrorPrefix::All>(__func__, error, [&] {
        const tutti_store_table read = tutti::ext::read_table(table, "");
        capi::need_output(out_store, "out_store");
        capi::Reserved<tutti_store> slot;
        *out_store = slot.publish(tutti::make_user_store(read, store));
    });
}

}  // extern "C"
