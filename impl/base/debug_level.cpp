#include "debug_level.hpp"

#include <strings.h>

#include <array>
#include <atomic>

#include "environment.hpp"
#include "error.hpp"

namespace tutti {

namespace {

constexpr const char* variable = "TORCH_DISTRIBUTED_DEBUG";
constexpr int not_asked = -1;
constinit std::atomic<int> current{not_asked};

int debug_level_of_environment() noexcept {
    try {
        return static_cast<int>(debug_level_by_environment());
    } catch (...) {  // who makes a group is told
        return static_cast<int>(DebugLevel::Off);
    }
}

}  // namespace

DebugLevel debug_level() noexcept {
    int level = current.load(std::memory_order_relaxed);
    if (level == not_asked) {
        const int asked = debug_level_of_environment();
        if (current.compare_exchange_strong(level, asked)) level = asked;
    }
    return static_cast<DebugLevel>(level);
}

void set_debug_level(DebugLevel level) noexcept {
    current = static_cast<int>(level);
}

bool debug_level_is_set() noexcept {
    return static_cast<int>(debug_level()) != debug_level_of_environment();
}

DebugLevel debug_level_by_environment() {
    const auto text = environment(variable);
    if (!text) return DebugLevel::Off;
    constexpr std::array<const char*, 3> names{"OFF", "INFO", "DETAIL"};
    for (size_t level = 0; level < names.size(); ++level) {
        if (strcasecmp(text->c_str(), names[level]) == 0) return static_cast<DebugLevel>(level);
    }
    throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat("environment variable ", variable, " is \"", *text,
                                                "\"; it may be OFF, INFO or DETAIL"));
}

}  // namespace tutti
