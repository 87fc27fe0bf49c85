#include "library.hpp"

#include <atomic>
#include <mutex>

namespace tutti::cuda {

namespace {

tutti_status status_of(Result result) {
    switch (result) {
        case Result::OutOfMemory:
            return TUTTI_ERR_OUT_OF_MEMORY;
        case Result::InvalidValue:
        case Result::InvalidHandle:
        case Result::InvalidContext:
            return TUTTI_ERR_INVALID_ARGUMENT;
        case Result::NoDevice:
        case Result::StreamCaptureUnsupported:
            return TUTTI_ERR_UNSUPPORTED;
        default:
            return TUTTI_ERR_BACKEND;
    }
}

}  // namespace

struct Library::Primary {
    std::mutex making;
    std::atomic<Context> context{nullptr};
};

const Library& Library::get() {
    return loaded_once<Library>([] { return new Library; });
}

Library::Library() : loaded_("NVIDIA's driver", "TUTTI_CUDA_LIBRARY", "libcuda.so.1") {
    find_functions();
    find_devices();
}

void Library::find_functions() {
#define TUTTI_CUDA_FIND(member, symbol, ...) \
    member = reinterpret_cast<decltype(member)>(loaded_.find(#symbol));
    TUTTI_CUDA_FUNCTIONS(TUTTI_CUDA_FIND)
#undef TUTTI_CUDA_FIND
}

void Library::find_devices() {
    const Result begun = init(0);
    int count = 0;
    if (begun == Result::Success) check(device_count(&count), "cuDeviceGetCount");
    if (begun == Result::NoDevice || (begun == Result::Success && count == 0)) {
        throw Failure{TUTTI_ERR_UNSUPPORTED, static_cast<int>(begun), "there is no CUDA device"};
    }
    if (begun == Result::StubLibrary) {
        throw Failure{TUTTI_ERR_UNSUPPORTED, static_cast<int>(begun),
                      loaded_.path() + " is for linking programs, and no driver"};
    }
    if (begun != Result::Success) {  // of another version than its kernel module, for instance
        Failure failure = failure_of(begun, "cuInit");
        failure.status = TUTTI_ERR_UNSUPPORTED;
        throw failure;
    }
    for (int device = 0; device < count; ++device) contexts_.push_back(new Primary);
}

Context Library::context(int device) const {
    if (device < 0 || device >= devices()) {
        throw Failure{TUTTI_ERR_INVALID_ARGUMENT, 0,
                      "there is no cuda:" + std::to_string(device) + "; the devices are 0 to " +
                          std::to_string(devices() - 1)};
    }
    Primary& primary = *contexts_[static_cast<size_t>(device)];
    if (const Context made = primary.context.load(std::memory_order_acquire)) return made;
    const std::lock_guard lock(primary.making);  // what has failed is tried again
    if (const Context made = primary.context.load(std::memory_order_relaxed)) return made;
    DeviceNumber handle = 0;
    Context made{};
    check(device_get(&handle, device), "cuDeviceGet");
    check(retain_context(&made, handle), "cuDevicePrimaryCtxRetain");
    primary.context.store(made, std::memory_order_release);
    return made;
}

void Library::check(Result result, const char* function) const {
    if (result != Result::Success) throw failure_of(result, function);
}

Failure Library::failure_of(Result result, const char* function) const {
    const char* name = nullptr;
    const char* text = nullptr;
    error_name(result, &name);
    error_string(result, &text);
    const std::string number = "error " + std::to_string(static_cast<int>(result));
    std::string message = std::string(function) + " failed: " + (text != nullptr ? text : number);
    if (name != nullptr) message += std::string(" (") + name + ")";
    return {status_of(result), static_cast<int>(result), message};
}

InContext::InContext(const Library& library, int device) : library_(library) {
    library_.check(library_.push_context(library_.context(device)), "cuCtxPushCurrent");
    library_.exchange_capture_mode(&mode_);
}

InContext::~InContext() {
    library_.exchange_capture_mode(&mode_);
    Context context = nullptr;
    library_.pop_context(&context);
}

}  // namespace tutti::cuda
