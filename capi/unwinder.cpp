// Which unwinder ends the exceptions of the library. Part of libtutti.so alone, and linked so that
// the references of all its objects to these two functions come here (--wrap in CMakeLists.txt).
//
// Two libraries have a part in an exception: libstdc++ raises it, and the frames that it passes
// call _Unwind_Resume when they have cleaned up. Each looks for the unwinder's functions by itself.
// In a host with an unwinder of its own, such as Julia with libunwind, a library that is loaded
// with RTLD_DEEPBIND finds another one than libstdc++ did: raised by one and resumed by the other,
// the exception ends the process. So the frames of the library see who raised, and resume there.
// To bring an unwinder along would not do: libstdc++'s personality function belongs to its own.
#include <dlfcn.h>
#include <unwind.h>

#include <atomic>
#include <cstdint>
#include <exception>

extern "C" {
_Unwind_Reason_Code __real___gxx_personality_v0(int version, _Unwind_Action actions, uint64_t kind,
                                                _Unwind_Exception* exception,
                                                _Unwind_Context* context);
[[noreturn]] void __real__Unwind_Resume(_Unwind_Exception* exception);
_Unwind_Reason_Code __wrap___gxx_personality_v0(int version, _Unwind_Action actions, uint64_t kind,
                                                _Unwind_Exception* exception,
                                                _Unwind_Context* context);
[[noreturn]] void __wrap__Unwind_Resume(_Unwind_Exception* exception);
}

namespace {

using Resume = void (*)(_Unwind_Exception*);

// _Unwind_Resume of the unwinder that libstdc++ raises with. It is found when the library is loaded
// and never changes.
constinit std::atomic<Resume> resume_where_raised = nullptr;

// _Unwind_Resume of the library that has this code.
Resume resume_beside(const void* code) noexcept {
    Dl_info found = {};
    if (dladdr(code, &found) == 0) return __real__Unwind_Resume;
    void* const library = dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    void* const function = library != nullptr ? dlsym(library, "_Unwind_Resume") : nullptr;
    if (library != nullptr) dlclose(library);  // which stays, as it is in use
    return function != nullptr ? reinterpret_cast<Resume>(function) : __real__Unwind_Resume;
}

// Here, where nobody waits for the loader: later, another thread may hold it and wait for this one.
[[gnu::constructor]] void raise_once() {
    try {
        throw std::exception();
    } catch (const std::exception&) {
    }
}

}  // namespace

// Called by the unwinder, for every frame of the library.
_Unwind_Reason_Code __wrap___gxx_personality_v0(int version, _Unwind_Action actions, uint64_t kind,
                                                _Unwind_Exception* exception,
                                                _Unwind_Context* context) {
    if (resume_where_raised.load(std::memory_order_relaxed) == nullptr) {
        resume_where_raised.store(resume_beside(__builtin_return_address(0)),
                                  std::memory_order_relaxed);
    }
    return __real___gxx_personality_v0(version, actions, kind, exception, context);
}

// Unwinding that has a function to tell it where to stop is not libstdc++'s: a thread is cancelled.
void __wrap__Unwind_Resume(_Unwind_Exception* exception) {
    if (exception->private_1 == 0) resume_where_raised.load(std::memory_order_relaxed)(exception);
    __real__Unwind_Resume(exception);
}
