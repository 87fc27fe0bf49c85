#include "ticks.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "base/open_descriptors.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tutti::record {

#if defined(__x86_64__)

namespace {

bool is_invariant() noexcept {
    constexpr unsigned leaf = 0x80000007;
    constexpr unsigned invariant = 1U << 8;
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid(leaf, &a, &b, &c, &d) != 0 && (d & invariant) != 0;
}

// The system has compared the processors' counters.
bool is_trusted() noexcept {
    constexpr const char* path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    const int file = open_tracked([] { return ::open(path, O_RDONLY | O_CLOEXEC); });
    if (file < 0) return false;
    char text[16]{};
    const ssize_t size = read(file, text, sizeof text);
    close_tracked(file);
    if (size <= 0) return false;
    const std::string_view source(text, static_cast<size_t>(size));
    return source.starts_with("tsc") || source.starts_with("kvm-clock");
}

}  // namespace

bool has_counter() noexcept {
    return is_invariant() && is_trusted();
}

#elif defined(__aarch64__)

bool has_counter() noexcept {
    return true;
}

#else

bool has_counter() noexcept {
    return false;
}

#endif

}  // namespace tutti::record
