// Moves operations on while threads give it theirs: a thread that waits for some of them helps all,
// until its own have ended. Any thread, which holds no lock.
#pragma once

#include <functional>

#include "base/deadline.hpp"

namespace tutti {

class Helper {
public:
    virtual ~Helper() = default;
    Helper(const Helper&) = delete;
    Helper& operator=(const Helper&) = delete;

    // Asked after some operations have ended.
    using IsOver = std::function<bool()>;
    // Moves what can be moved until `is_over` or the deadline. Returns at once if it needs no
    // thread of a caller.
    virtual void help(const IsOver& is_over, const Deadline& deadline) = 0;
    // Moves what can be moved now: for a thread that asks again and again.
    virtual void look() noexcept = 0;
    // Some thread waits, and does not help: the background begins now.
    virtual void hurry() noexcept = 0;

protected:
    Helper() = default;
};

}  // namespace tutti
