#include "module.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/device.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"

namespace tutti::device {

namespace {

// Where this code lies, if it lies in a file.
std::string own_folder() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0) return {};
    return std::filesystem::path(info.dli_fname).parent_path();
}

std::vector<std::string> places(tutti_device_type type) {
    const std::string name = device_type_name(type);
    std::string variable = "TUTTI_CUDA_MODULE";
    if (auto given = environment(variable.c_str())) return {*given};
    const std::string file = cat("libtutti-", name, ".so");
    std::vector<std::string> all;
    if (const std::string folder = own_folder(); !folder.empty()) {
        all.push_back(cat(folder, "/", file));
        all.push_back(cat(folder, "/tutti/", file));
    }
    all.push_back(file);
    return all;
}

}  // namespace

const tutti_device_table& find_module(tutti_device_type type) {
    std::string reasons;
    for (const std::string& place : places(type)) {
        void* const library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            const char* const why = dlerror();
            reasons += cat(reasons.empty() ? "" : "; ", why != nullptr ? why : place);
            continue;
        }
        void* const symbol = dlsym(library, tutti_device_module_symbol);
        if (symbol == nullptr) {
            throw Error(TUTTI_ERR_UNSUPPORTED, cat(place, " is no module of tutti's: it has no ",
                                                   tutti_device_module_symbol));
        }
        const auto* const table = reinterpret_cast<const tutti_device_table* (*)()>(symbol)();
        if (table->version != tutti_device_table_version ||
            table->size != sizeof(tutti_device_table)) {
            throw Error(TUTTI_ERR_UNSUPPORTED,
                        cat(place, " belongs to another version of tutti: its interface is ",
                            table->version, ", this library's is ", tutti_device_table_version));
        }
        return *table;
    }
    throw Error(TUTTI_ERR_UNSUPPORTED,
                cat("devices of type ", device_type_name(type),
                    " need a module of tutti that is not installed (", reasons, ")"));
}

}  // namespace tutti::device
