// NVIDIA's driver, found in the running system. Loaded once, never unloaded. Any thread.
#pragma once

#include <string>
#include <vector>

#include "abi.hpp"
#include "loading.hpp"

namespace tutti::cuda {

class Library {
public:
    // Throws Failure, with a sentence that says what is missing.
    static const Library& get();

#define TUTTI_CUDA_MEMBER(member, symbol, ...) Result (*member)(__VA_ARGS__) = nullptr;
    TUTTI_CUDA_FUNCTIONS(TUTTI_CUDA_MEMBER)
#undef TUTTI_CUDA_MEMBER

    [[nodiscard]] int devices() const {
        return static_cast<int>(contexts_.size());
    }
    // The primary context of a device, which the CUDA runtime uses as well; kept from the first
    // use to the end of the process.
    [[nodiscard]] Context context(int device) const;

    // Throws Failure unless the result is Success.
    void check(Result result, const char* function) const;

private:
    Library();
    void find_functions();
    void find_devices();
    [[nodiscard]] Failure failure_of(Result result, const char* function) const;

    struct Primary;
    LoadedLibrary loaded_;
    std::vector<Primary*> contexts_;  // by device; as long as the process
};

// Makes a device's context current on this thread, and lets a thread be no part of captures that
// others make, for as long as it lives.
class InContext {
public:
    InContext(const Library& library, int device);
    ~InContext();
    InContext(const InContext&) = delete;
    InContext& operator=(const InContext&) = delete;

private:
    const Library& library_;
    CaptureMode mode_ = CaptureMode::Relaxed;
};

}  // namespace tutti::cuda
