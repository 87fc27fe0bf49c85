// Libraries of NVIDIA's, found in the running system. Loaded once, never unloaded. Any thread.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "tutti/types.h"

namespace tutti::cuda {

// The failure that ended a call of the module.
struct Failure {
    tutti_status status;
    int code;  // the library's
    std::string message;
};

class LoadedLibrary {
public:
    // The file that the variable names, else the usual one. Throws Failure: `what` is not here.
    LoadedLibrary(const char* what, const char* variable, const char* usual);

    [[nodiscard]] const std::string& path() const { return path_; }
    // Throws Failure if there is none: the library is too old.
    [[nodiscard]] void* find(const char* symbol) const;
    // Null if there is none.
    [[nodiscard]] void* look(const char* symbol) const;

private:
    std::string path_;
    void* handle_ = nullptr;
};

// Never destroyed: the library may be in use at the very end of the process. One that failed is
// tried again.
template <typename Library, typename Make>
const Library& loaded_once(const Make& make) {
    static std::atomic<const Library*> library{nullptr};
    if (const Library* const loaded = library.load(std::memory_order_acquire)) return *loaded;
    static std::mutex loading;
    const std::lock_guard lock(loading);
    if (library.load(std::memory_order_relaxed) == nullptr) {
        library.store(make(), std::memory_order_release);
    }
    return *library.load(std::memory_order_relaxed);
}

}  // namespace tutti::cuda
