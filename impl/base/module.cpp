#include "module.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <vector>

#include "environment.hpp"
#include "error.hpp"
#include "open_descriptors.hpp"
#include "resource_limits.hpp"

namespace tutti {

namespace {

// Where this code lies, if it lies in a file: as the loader found it, and where links lead to.
std::vector<std::string> own_folders() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&own_folders), &info) == 0) return {};
    const std::filesystem::path file = info.dli_fname;
    std::vector<std::string> folders;
    if (file.has_parent_path()) folders.push_back(file.parent_path());
    std::error_code ignored;
    const std::filesystem::path real = std::filesystem::canonical(file, ignored).parent_path();
    if (!real.empty() && real != file.parent_path()) folders.push_back(real);
    return folders;
}

std::string variable_of(const std::string& name) {
    std::string middle = name;
    std::ranges::transform(middle, middle.begin(), [](unsigned char c) {
        return c == '-' ? '_' : static_cast<char>(std::toupper(c));
    });
    return cat("TUTTI_", middle, "_MODULE");
}

std::vector<std::string> places(const std::string& name) {
    const std::string variable = variable_of(name);
    if (auto given = environment_by_name(variable.c_str())) {
        if (given->front() != '/') {
            throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                        cat(variable, " is \"", *given, "\", which is no absolute path"));
        }
        return {*given};
    }
    const std::string file = cat("libtutti-", name, ".so");
    std::vector<std::string> all;
    for (const std::string& folder : own_folders()) {
        all.push_back(cat(folder, "/", file));
        all.push_back(cat(folder, "/tutti/", file));
    }
    all.push_back(file);
    return all;
}

bool is_file(const std::string& place) {
    std::error_code ignored;
    return place.front() == '/' && std::filesystem::exists(place, ignored);
}

}  // namespace

Module load_module(const std::string& name, const char* symbol) {
    const StandardPlaceholders held;
    std::string missing;
    std::string broken;
    for (const std::string& place : places(name)) {
        void* const library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (library == nullptr) {
            const char* const told = dlerror();
            const std::string why = told != nullptr ? told : place;
            if (is_file(place)) {
                if (const int number = exhaustion_of_descriptors(1)) {
                    throw system_error(TUTTI_ERR_UNSUPPORTED, place, number);
                }
                broken += cat(broken.empty() ? "" : "; ", place, " cannot be loaded: ", why);
            } else {
                missing += cat(missing.empty() ? "" : "; ", why);
            }
            continue;
        }
        void* const entry = dlsym(library, symbol);
        if (entry == nullptr) {
            throw Error(TUTTI_ERR_UNSUPPORTED,
                        cat(place, " is no module of tutti's: it has no ", symbol));
        }
        return {place, entry};
    }
    throw NoModule(broken.empty() ? missing : broken);
}

}  // namespace tutti
