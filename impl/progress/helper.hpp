// A source on which a thread that waits for some of its operations helps all of them, until its own
// have ended. Any thread, which holds no lock.
#pragma once

#include <functional>

#include "base/deadline.hpp"
#include "source.hpp"

namespace tutti {

class Helper : public Source {
public:
    // Asked after some operations have ended.
    using IsOver = std::function<bool()>;
    // Moves what can be moved until `is_over` or the deadline. Returns at once if it needs no
    // thread of a caller.
    virtual void help(const IsOver& is_over, const Deadline& deadline) = 0;
};

}  // namespace tutti
