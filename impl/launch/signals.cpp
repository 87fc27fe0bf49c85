// Blocks the signals of the launcher and reads them. Main thread.
#include "signals.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/resource_limits.hpp"

namespace tutti::launch {

namespace {

bool ignored(int number) {
    struct sigaction action = {};
    ::sigaction(number, nullptr, &action);
    return action.sa_handler == SIG_IGN;
}

}  // namespace

bool ends_job(int number) {
    constexpr std::array ending{SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE};
    return std::ranges::find(ending, number) != ending.end();
}

void stop_this_process() {
    ::kill(::getpid(), SIGSTOP);
}

SignalInbox::SignalInbox(const std::vector<int>& wanted) {
    // An ignored SIGCHLD would make the kernel forget how children ended.
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &standard, nullptr);

    sigset_t handled;
    ::sigemptyset(&handled);
    ::sigaddset(&handled, SIGCHLD);
    // A write to a closed pipe raises SIGPIPE: as a signal of its own it ends the job.
    std::vector<int> all{SIGUSR1, SIGUSR2, SIGTSTP, SIGPIPE};
    all.insert(all.end(), wanted.begin(), wanted.end());
    for (const int number : all) {
        if (!ignored(number)) ::sigaddset(&handled, number);
    }
    // SIGXFSZ is only blocked, never read: a file at its limit (ulimit -f) is an error of write
    // then.
    sigset_t blocked = handled;
    ::sigaddset(&blocked, SIGXFSZ);
    if (const int fault = ::pthread_sigmask(SIG_SETMASK, &blocked, nullptr); fault != 0) {
        throw Error(TUTTI_ERR_INTERNAL, cat("cannot block signals: ", errno_text(fault)), -1,
                    fault);
    }
    inbox_ = net::Descriptor(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!inbox_.valid()) {
        throw call_error("signalfd", "cannot read signals", errno);
    }
}

std::optional<signalfd_siginfo> SignalInbox::next() {
    signalfd_siginfo info = {};
    if (::read(inbox_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    return info;
}

}  // namespace tutti::launch
