#include "library.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

namespace tutti::nccl {

namespace {

constexpr int oldest_version = 21900;

std::string library_name() {
    const char* const given = std::getenv("TUTTI_NCCL_LIBRARY");
    return given != nullptr && *given != '\0' ? given : "libnccl.so.2";
}

// 22809: "2.28.9".
std::string text_of(int version) {
    return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
}

tutti_status status_of(Result result) {
    return result == Result::InvalidArgument ? TUTTI_ERR_INVALID_ARGUMENT : TUTTI_ERR_BACKEND;
}

}  // namespace

const Library& Library::get() {
    // Never destroyed, as the driver's. One that failed is tried again.
    static std::atomic<const Library*> library{nullptr};
    if (const Library* const loaded = library.load(std::memory_order_acquire)) return *loaded;
    static std::mutex loading;
    const std::lock_guard lock(loading);
    if (library.load(std::memory_order_relaxed) == nullptr) {
        library.store(new Library, std::memory_order_release);
    }
    return *library.load(std::memory_order_relaxed);
}

Library::Library() : path_(library_name()) {
    handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
        const char* const why = dlerror();
        throw Failure{TUTTI_ERR_UNSUPPORTED, 0,
                      std::string("NCCL is not here (") + (why != nullptr ? why : "dlopen") + ")"};
    }
    find_functions();
    check_version();
    find_driver();
}

void Library::find_functions() {
    const auto find = [this](const char* symbol) {
        void* const found = dlsym(handle_, symbol);
        if (found == nullptr) {
            throw Failure{TUTTI_ERR_UNSUPPORTED, 0, path_ + " is too old: it has no " + symbol};
        }
        return found;
    };
#define TUTTI_NCCL_FIND(member, symbol, ...) \
    member = reinterpret_cast<decltype(member)>(find(#symbol));
#define TUTTI_NCCL_LOOK(member, symbol, ...) \
    member = reinterpret_cast<decltype(member)>(dlsym(handle_, #symbol));
    TUTTI_NCCL_FUNCTIONS(TUTTI_NCCL_FIND)
    TUTTI_NCCL_TEXTS(TUTTI_NCCL_FIND)
    TUTTI_NCCL_LATER_FUNCTIONS(TUTTI_NCCL_LOOK)
#undef TUTTI_NCCL_FIND
#undef TUTTI_NCCL_LOOK
}

void Library::check_version() {
    check(get_version(&version_), "ncclGetVersion");
    if (version_ >= oldest_version) return;
    throw Failure{TUTTI_ERR_UNSUPPORTED, 0,
                  path_ + " is too old: it is NCCL " + text_of(version_) + ", and tutti needs " +
                      text_of(oldest_version) + " or later"};
}

void Library::find_driver() {
    try {
        driver_ = &cuda::Library::get();
    } catch (Failure& failure) {
        failure.message = "NCCL " + text_of(version_) + " is here, and " + failure.message;
        throw;
    }
}

void Library::check(Result result, const char* function, Comm comm) const {
    if (result != Result::Success && result != Result::InProgress) {
        throw failure_of(result, function, comm);
    }
}

Failure Library::failure_of(Result result, const char* function, Comm comm) const {
    const char* const text = error_string(result);
    const char* const more = last_error(comm);
    std::string message = std::string(function) + " failed: " + (text != nullptr ? text : "error");
    if (more != nullptr && *more != '\0') message += std::string(" (") + more + ")";
    return {status_of(result), static_cast<int>(result), message};
}

}  // namespace tutti::nccl
