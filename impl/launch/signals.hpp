// The signals of the launcher, as values read from a descriptor. Made on the main thread before
// any other thread starts, so that all of them inherit the blocked mask.
#pragma once

#include <sys/signalfd.h>

#include <optional>
#include <vector>

#include "net/descriptor.hpp"

namespace tutti::launch {

// Whether it ends the ranks: SIGTERM, SIGINT, SIGHUP, SIGQUIT, and SIGPIPE, as nobody reads the
// output then. What else comes is for them to handle, or not.
bool ends_job(int number);

// Returns when this process is told to go on.
void stop_this_process();

class SignalInbox {
public:
    // Takes the signals wanted, SIGUSR1, SIGUSR2, SIGTSTP and SIGPIPE, except the ones that the
    // launcher was started with ignored (nohup, background jobs), and SIGCHLD.
    explicit SignalInbox(const std::vector<int>& wanted);

    [[nodiscard]] int descriptor() const { return inbox_.get(); }
    // Nothing when no further signal has come.
    std::optional<signalfd_siginfo> next();

private:
    net::Descriptor inbox_;
};

}  // namespace tutti::launch
