// NCCL, found in the running system. Loaded once, never unloaded. Any thread, but for what NCCL
// itself asks.
#pragma once

#include <string>

#include "abi.hpp"
#include "modules/cuda/library.hpp"

namespace tutti::nccl {

// The failure that ended a call of the module.
using cuda::Failure;

constexpr int oldest_version = 21900;

// 22809: "2.28.9".
std::string text_of(int version);

class Library {
public:
    // Throws Failure, with a sentence that says what is missing: NCCL, the driver, or a device.
    static const Library& get();

#define TUTTI_NCCL_MEMBER(member, symbol, ...) Result (*member)(__VA_ARGS__) = nullptr;
#define TUTTI_NCCL_TEXT(member, symbol, ...) const char* (*member)(__VA_ARGS__) = nullptr;
    TUTTI_NCCL_FUNCTIONS(TUTTI_NCCL_MEMBER)
    TUTTI_NCCL_TEXTS(TUTTI_NCCL_TEXT)
    TUTTI_NCCL_LATER_FUNCTIONS(TUTTI_NCCL_MEMBER)
#undef TUTTI_NCCL_MEMBER
#undef TUTTI_NCCL_TEXT

    // 22809 is 2.28.9.
    [[nodiscard]] int version() const {
        return version_;
    }
    [[nodiscard]] const cuda::Library& driver() const {
        return *driver_;
    }

    // Throws Failure unless the result is Success or InProgress.
    void check(Result result, const char* function, Comm comm = nullptr) const;
    [[nodiscard]] Failure failure_of(Result result, const char* function, Comm comm) const;

private:
    Library();
    void find_functions();
    void check_version();
    void find_driver();

    const cuda::Library* driver_ = nullptr;
    cuda::LoadedLibrary loaded_;
    int version_ = 0;
};

}  // namespace tutti::nccl
