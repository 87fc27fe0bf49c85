#include "loading.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace tutti::cuda {

LoadedLibrary::LoadedLibrary(const char* what, const char* variable, const char* usual) {
    const char* const given = std::getenv(variable);
    path_ = given != nullptr && *given != '\0' ? given : usual;
    handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return;
    const char* const why = dlerror();
    throw Failure{TUTTI_ERR_UNSUPPORTED, 0,
                  std::string(what) + " is not here (" + (why != nullptr ? why : "dlopen") + ")"};
}

void* LoadedLibrary::find(const char* symbol) const {
    void* const found = look(symbol);
    if (found != nullptr) return found;
    throw Failure{TUTTI_ERR_UNSUPPORTED, 0, path_ + " is too old: it has no " + symbol};
}

void* LoadedLibrary::look(const char* symbol) const {
    return dlsym(handle_, symbol);
}

}  // namespace tutti::cuda
