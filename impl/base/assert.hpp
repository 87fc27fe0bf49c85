// For what only a mistake of ours can break. Input from outside never reaches an assertion. Ends
// the process, with the place, in every build: going on would risk the caller's data.
#pragma once

namespace tutti {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;
}

#define TUTTI_ASSERT(condition) \
    ((condition) ? static_cast<void>(0) : ::tutti::assertion_failed(#condition, __FILE__, __LINE__))
