// Calls back when a deadline passes. One thread for the process, started with the first alarm and
// ended with the last user.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/deadline.hpp"

namespace tutti {

class Alarm {
public:
    using Id = uint64_t;  // 0: none

    // The one of this process.
    static std::shared_ptr<Alarm> shared();
    ~Alarm();
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;

    // Calls `rings` on the alarm's thread, with no lock held, unless cleared before; never for a
    // deadline that is never. It must not throw and should be short.
    Id set(const Deadline& deadline, std::function<void()> rings);
    // Afterwards it will not ring, unless it is ringing just now.
    void clear(Id id);

private:
    struct State;
    Alarm();
    static void watch(const std::shared_ptr<State>& state);

    const std::shared_ptr<State> state_;  // the thread's too: it may be what lets go of the alarm
};

}  // namespace tutti
