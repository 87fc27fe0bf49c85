// Decides for a mover whether something was left alone: what was there at its last look, while no
// caller has waited since. Under the lock of its owner, but for the making; knows no clock.
#pragma once

#include <cstdint>
#include <optional>

#include "looks.hpp"

namespace tutti {

class Attention {
public:
    struct Seen {
        bool has_some = false;   // something is under way that no thread may be waiting for
        bool is_new = false;     // more of it has come since the last look
        bool is_wanted = false;  // a thread waits that does not move it
        int waiting = 0;         // threads that wait, and move it
        uint64_t waits = 0;      // that have begun so far
    };
    // The mover moves next, or rests and then looks again; without either it sleeps until it is
    // notified.
    struct Next {
        bool moves = false;
        std::optional<Looks::Rest> rest{};
    };
    // Throws INVALID_ARGUMENT for what TUTTI_PROGRESS is.
    Attention() = default;

    Next next(const Seen& seen) noexcept;
    // Something long has come, which may be left alone: true if the mover is to be woken.
    [[nodiscard]] bool shorten() noexcept { return looks_.shorten(); }

private:
    Looks looks_;
    uint64_t waits_ = 0;     // at the last look
    bool had_some_ = false;  // then
};

}  // namespace tutti
