// Waiting for a device on this thread. No driver waits with a limit, so this polls, with ever
// longer rests.
#pragma once

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "driver.hpp"
#include "progress/backoff.hpp"
#include "progress/sleep.hpp"

namespace tutti::device {

// Returns once the event has passed. Asks `check` now and then, which throws to end the wait.
// Throws TIMEOUT.
template <typename Check>
void wait_for(const Event& event, const Deadline& deadline, Check&& check) {
    Backoff backoff;
    while (!event.passed()) {
        check();
        if (deadline.expired()) {
            throw Error(TUTTI_ERR_TIMEOUT,
                        cat("timed out after ", deadline.timeout_ms(),
                            " ms, waiting for what this rank's stream does before"));
        }
        Deadline until = deadline;
        if (backoff.rests(until)) sleep_until(until);
    }
}

}  // namespace tutti::device
