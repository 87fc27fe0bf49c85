// A message for each group that comes and goes; the end of them is the end of the launcher. The
// child makes only async-signal-safe calls.
#include "guard.hpp"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>

#include "base/resource_limits.hpp"
#include "limits.hpp"

#ifndef SYS_close_range
constexpr long SYS_close_range = 436;  // the same for all processors
#endif

namespace tutti::launch {

namespace {

struct Message {
    pid_t group;
    bool is_added;
};

constinit std::array<pid_t, limits::processes> groups{};  // of the other process

void replace(pid_t one, pid_t other) noexcept {
    for (pid_t& group : groups) {
        if (group != one) continue;
        group = other;
        return;
    }
}

[[noreturn]] void watch(int line) noexcept {
    ::prctl(PR_SET_NAME, "tuttirun-guard");
    ::setsid();  // what a terminal, or somebody's kill, sends to the launcher's group is not for it
    // It holds nothing open but its end of the line.
    ::dup2(line, STDIN_FILENO);
    ::syscall(SYS_close_range, 1U, UINT_MAX, 0U);
    Message message{};
    for (;;) {
        const ssize_t size = ::recv(STDIN_FILENO, &message, sizeof message, 0);
        if (size < 0 && errno == EINTR) continue;
        if (size != sizeof message) break;
        replace(message.is_added ? 0 : message.group, message.is_added ? message.group : 0);
    }
    for (const pid_t group : groups) {
        if (group != 0) ::kill(-group, SIGKILL);
    }
    ::_exit(0);
}

void tell(int line, const Message& message) {
    [[maybe_unused]] const auto sent = ::send(line, &message, sizeof message, MSG_NOSIGNAL);
}

}  // namespace

Guard::Guard() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        throw system_error(TUTTI_ERR_OUT_OF_MEMORY, "cannot make a pair of sockets", errno);
    }
    line_ = net::Descriptor(ends[0]);
    const net::Descriptor other(ends[1]);
    const pid_t child = ::fork();
    if (child < 0) throw thread_error("cannot start a process", errno);
    if (child == 0) watch(other.get());
}

void Guard::add(pid_t group) const {
    tell(line_.get(), {group, true});
}

void Guard::remove(pid_t group) const {
    tell(line_.get(), {group, false});
}

}  // namespace tutti::launch
