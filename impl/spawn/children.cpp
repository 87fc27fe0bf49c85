// fork, waitid, and pidfd where the system has it. The thread that calls; after fork also the
// child's only thread.
#include "children.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>

#include "base/resource_limits.hpp"
#include "net/process_watch.hpp"

namespace tutti::spawn {

namespace {

constexpr int64_t look_ms = 10;  // between two looks at processes that nothing tells of

[[noreturn]] void no_room(const char* verb, size_t rank, int fault) {
    throw process_error(cat("cannot ", verb, " the process of rank ", rank), fault,
                        static_cast<int>(rank));
}

// For what ends with SIGKILL, also if the parent died before it could be asked for.
void die_with(pid_t parent) noexcept {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // nobody is there to see it
}

bool is_unwatched(const Child& child) {
    return child.alive && !child.handle.valid();
}

// Leaves it to be reaped. Also true if the program has reaped it: then its number may be another's.
bool has_ended(pid_t pid) noexcept {
    siginfo_t info = {};
    const auto id = static_cast<id_t>(pid);
    return ::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

void send_to(const Child& child, int number) noexcept {
    const int handle = child.handle.get();
    if (handle >= 0 && ::syscall(SYS_pidfd_send_signal, handle, number, nullptr, 0) == 0) return;
    if (!has_ended(child.pid)) ::kill(child.pid, number);
}

}  // namespace

int64_t monotonic_ns() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

Children::~Children() {
    send(SIGKILL);
    while (anyone_alive()) wait(Deadline::never());
}

void Children::add(const std::function<void()>& run) {
    all_.emplace_back();  // first, for memory may be short
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) {
        die_with(parent);
        run();
        std::abort();
    }
    int fault = errno;
    if (pid > 0) {
        // Not reaped by us, so its number is its own, unless the program reaps what is not its.
        all_.back().pid = pid;
        all_.back().handle = net::Descriptor(net::open_pidfd(pid));
        fault = errno;
        // Systems before Linux 5.3 have none, and some refuse it: then it is looked at.
        if (all_.back().handle.valid() || !is_exhaustion(fault)) return;
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
    all_.pop_back();
    no_room(pid < 0 ? "start" : "watch", all_.size(), fault);
}

bool Children::wait(const Deadline& deadline) {
    const bool looks = std::ranges::any_of(all_, is_unwatched);
    for (;;) {
        const bool told =
            collect_told(looks ? deadline.or_earlier(Deadline::after_ms(look_ms)) : deadline);
        const bool seen = looks && collect_seen();
        if (told || seen) return true;
        if (!looks || deadline.expired()) return false;
    }
}

// Children with a handle.
bool Children::collect_told(const Deadline& deadline) {
    std::vector<pollfd> entries;
    std::vector<Child*> watched;
    for (Child& child : all_) {
        if (!child.alive || !child.handle.valid()) continue;
        entries.push_back({child.handle.get(), POLLIN, 0});
        watched.push_back(&child);
    }
    int ready = 0;
    do {
        ready = ::poll(entries.data(), entries.size(), deadline.poll_ms());
    } while (ready < 0 && errno == EINTR);
    for (size_t i = 0; i < entries.size(); ++i) {
        if (ready > 0 && entries[i].revents != 0) collect(*watched[i]);
    }
    return ready > 0;
}

// Children without one.
bool Children::collect_seen() noexcept {
    bool any = false;
    for (Child& child : all_) {
        if (!is_unwatched(child) || !has_ended(child.pid)) continue;
        collect(child);
        any = true;
    }
    return any;
}

void Children::collect(Child& child) noexcept {
    siginfo_t info = {};
    int waited = 0;
    do {
        waited = ::waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED);
    } while (waited < 0 && errno == EINTR);
    child.alive = false;
    child.ended_ns = monotonic_ns();
    child.handle.reset();
    if (waited != 0) return;
    child.ending =
        ExitStatus{info.si_code != CLD_EXITED, info.si_status, info.si_code == CLD_DUMPED};
}

void Children::send(int signal) noexcept {
    for (const Child& child : all_) {
        if (!child.alive) continue;
        for (const int number : {signal, SIGCONT}) send_to(child, number);
    }
}

bool Children::anyone_alive() const {
    return std::any_of(all_.begin(), all_.end(), [](const Child& child) { return child.alive; });
}

}  // namespace tutti::spawn
