// A breakpoint of all ranks of a group: one waits for a debugger and stops in it, the others wait
// for that rank. The caller's thread.
#pragma once

#include <cstdint>
#include <optional>

#include "core.hpp"

namespace tutti {

// This rank's part of one breakpoint: meet(), then a stop if that says so, then leave(). Both are
// collectives of the group.
class Breakpoint {
public:
    // Throws INVALID_ARGUMENT if `rank` is none of the group.
    Breakpoint(GroupCore& group, int rank);
    ~Breakpoint();
    Breakpoint(const Breakpoint&) = delete;
    Breakpoint& operator=(const Breakpoint&) = delete;

    // All ranks have called it; the chosen one has got a debugger, and stops in it now: true on
    // that rank. Throws the group's failure.
    bool meet(int64_t timeout_ms);
    // Until the chosen rank has come, be it in days.
    void leave();

private:
    void await_debugger() const;
    [[nodiscard]] bool is_chosen() const { return call_.root == group_.identity.rank; }
    void expect_debugger(bool expects);

    GroupCore& group_;
    const Fingerprint call_;
    std::optional<InFlight> entry_;  // from meet() on
    bool expects_debugger_ = false;
};

}  // namespace tutti
