#include "attention.hpp"

#include <utility>

namespace tutti {

Attention::Next Attention::next(const Seen& seen) noexcept {
    const bool had_some = std::exchange(had_some_, seen.has_some);
    const bool has_waits = std::exchange(waits_, seen.waits) != seen.waits;
    if (seen.waiting == 0) {
        const bool is_left_alone = seen.has_some && had_some && !has_waits;
        if (seen.is_wanted || is_left_alone || (seen.has_some && looks_.are_off())) {
            looks_.found_something();
            return {.moves = true};
        }
    }
    // A thread that has waited since the last look notifies the mover when it leaves.
    const bool is_attended = seen.waiting > 0 && !has_waits;
    if (is_attended) return {};
    return {.rest = looks_.next(seen.is_new || seen.has_some)};
}

}  // namespace tutti
