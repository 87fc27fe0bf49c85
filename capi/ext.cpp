// tutti/ext.h: backends and stores from outside. Any thread.
#include "tutti/ext.h"

#include "arguments.hpp"
#include "backend/module/module.hpp"
#include "guard.hpp"
#include "handle.hpp"
#include "options.hpp"
#include "store.hpp"
#include "store/user_store.hpp"

namespace capi = tutti::capi;

extern "C" {

tutti_status tutti_backend_register(const tutti_backend_table* table, tutti_error* error) {
    return capi::guard<capi::Naming::All>(__func__, error, [&] {
        const tutti_backend_table read = tutti::ext::read_table(table, "");
        tutti::ext::LoadedBackend backend = tutti::ext::backend_of(read);
        tutti::register_backend(read.name, std::move(backend.open), std::move(backend.can));
    });
}

tutti_status tutti_store_create_user(const tutti_store_table* table, void* store,
                                     tutti_store** out_store, tutti_error* error) {
    return capi::guard<capi::Naming::All>(__func__, error, [&] {
        const tutti_store_table read = tutti::ext::read_table(table, "");
        capi::need_output(out_store, "out_store");
        capi::Reserved<tutti_store> slot;
        *out_store = slot.publish(tutti::make_user_store(read, store));
    });
}

tutti_status tutti_store_open(const char* name, const char* address, int64_t timeout_ms,
                              tutti_store** out_store, tutti_error* error) {
    return capi::guard<capi::Naming::All>(__func__, error, [&] {
        const std::string read = capi::read_text(name, "name");
        capi::check_timeout(timeout_ms, "timeout_ms");
        capi::need_output(out_store, "out_store");
        const int64_t timeout =
            capi::effective_timeout(timeout_ms, tutti::store_limits::default_timeout_ms);
        *out_store = capi::hand_out<tutti_store>(
            tutti::open_store_of_library(read, address == nullptr ? "" : address, timeout));
    });
}

}  // extern "C"
