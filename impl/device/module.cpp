#include "module.hpp"

#include <string>

#include "base/device.hpp"
#include "base/error.hpp"
#include "base/module.hpp"

namespace tutti::device {

namespace {

Module load(tutti_device_type type) {
    try {
        return load_module(device_type_name(type), tutti_device_module_symbol);
    } catch (const NoModule& missing) {
        throw Error(TUTTI_ERR_UNSUPPORTED,
                    cat("devices of type ", device_type_name(type),
                        " need a module of tutti that is not installed (", missing.what(), ")"));
    }
}

}  // namespace

const tutti_device_table& find_module(tutti_device_type type) {
    const Module module = load(type);
    const auto* const table = reinterpret_cast<const tutti_device_table* (*)()>(module.entry)();
    if (table->version != tutti_device_table_version || table->size != sizeof(tutti_device_table)) {
        throw Error(TUTTI_ERR_UNSUPPORTED,
                    cat(module.place, " belongs to another version of tutti: its interface is ",
                        table->version, ", this library's is ", tutti_device_table_version));
    }
    return *table;
}

}  // namespace tutti::device
