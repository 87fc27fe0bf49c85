// Waits on a store that signals can interrupt: in slices, between which the launcher checks its
// signal inbox. A slice is long for a store and short for a person. Main thread of the launcher.
#pragma once

#include <csignal>
#include <exception>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "signals.hpp"

namespace tutti::launch {

// A wait at a store that answers at once.
constexpr int64_t wait_slice_ms = 200;

// A signal to the launcher while it has no ranks to pass it on to.
struct Interrupted {
    int number;
};

// Calls attempt(slice) until it returns; what it throws passes when the slice was not the reason,
// or when the deadline has come. Throws Interrupted.
template <typename Attempt>
auto interruptibly(SignalInbox& signals, const Deadline& deadline, int64_t slice_ms,
                   Attempt&& attempt) {
    while (true) {
        const auto slice = Deadline::after_ms(slice_ms).or_earlier(deadline);
        try {
            return attempt(slice);
        } catch (const Error&) {
            if (!slice.expired() || deadline.expired()) throw;
        }
        while (const auto info = signals.next()) {
            const int number = static_cast<int>(info->ssi_signo);
            if (ends_job(number)) throw Interrupted{number};
            if (number == SIGTSTP) stop_this_process();
        }
    }
}

}  // namespace tutti::launch
