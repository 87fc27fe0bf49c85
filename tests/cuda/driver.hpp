// The common part of the programs of this folder: the driver, loaded as tutti loads it, and checks
// without a test library, so that a program runs on a machine with a GPU and little else.
#pragma once

#include "support/fake_cuda/functions.hpp"

#include <dlfcn.h>
#include <cstdio>
#include <cstdlib>

namespace tutti::cuda::test {

// Every function of both lists, by the names they have there.
struct Driver {
#define TUTTI_MEMBER(member, symbol, ...) Result (*member)(__VA_ARGS__) = nullptr;
    TUTTI_CUDA_FUNCTIONS(TUTTI_MEMBER)
    TUTTI_FAKE_CUDA_FUNCTIONS(TUTTI_MEMBER)
#undef TUTTI_MEMBER
    void* library = nullptr;
};

// Says why a program cannot run here; for ctest that is a skipped test.
[[noreturn]] inline void skip(const char* why) {
    std::printf("%s\n", why);
    std::exit(77);
}

inline Driver load() {
    Driver driver;
    const char* const path = std::getenv("TUTTI_CUDA_LIBRARY");
    driver.library = dlopen(path != nullptr ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver.library == nullptr) skip("no CUDA device: there is no driver");
#define TUTTI_FIND(member, symbol, ...)                                                        \
    driver.member = reinterpret_cast<Result (*)(__VA_ARGS__)>(dlsym(driver.library, #symbol)); \
    if (driver.member == nullptr) skip("no CUDA device: the driver has no " #symbol);
    TUTTI_CUDA_FUNCTIONS(TUTTI_FIND)
    TUTTI_FAKE_CUDA_FUNCTIONS(TUTTI_FIND)
#undef TUTTI_FIND
    return driver;
}

// Only the double has functions of its own.
inline bool is_the_double(const Driver& driver) {
    return dlsym(driver.library, "fake_cuda_launch") != nullptr;
}

// Ends the program unless a call gives this result.
inline void expect(Result got, Result wanted, const char* text, const char* file, int line) {
    if (got == wanted) return;
    std::fprintf(stderr, "%s:%d: %s\n  wanted %d, got %d\n", file, line, text,
                 static_cast<int>(wanted), static_cast<int>(got));
    std::exit(1);
}
inline void expect(bool right, const char* text, const char* file, int line) {
    if (right) return;
    std::fprintf(stderr, "%s:%d: %s\n", file, line, text);
    std::exit(1);
}

}  // namespace tutti::cuda::test

#define TUTTI_GIVES(wanted, call) \
    ::tutti::cuda::test::expect(call, wanted, #call, __FILE__, __LINE__)
#define TUTTI_WORKS(call) TUTTI_GIVES(::tutti::cuda::Result::Success, call)
#define TUTTI_HOLDS(condition) \
    ::tutti::cuda::test::expect(condition, #condition, __FILE__, __LINE__)
