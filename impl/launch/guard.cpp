// A message for each group that comes and goes; the end of them is the end of the launcher. The
// launcher has no other thread yet when it forks.
#include "guard.hpp"

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <string_view>

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

// For systems that know no close_range, or refuse it. The limit of descriptors may be far above
// what can be tried one by one.
void close_each_from(int first) noexcept {
    constexpr rlim_t most_tried = 65'536;
    if (DIR* const folder = ::opendir("/proc/self/fd"); folder != nullptr) {
        while (const dirent* const entry = ::readdir(folder)) {
            const std::string_view name = entry->d_name;
            int number = -1;
            std::from_chars(name.data(), name.data() + name.size(), number);
            if (number >= first && number != ::dirfd(folder)) ::close(number);
        }
        ::closedir(folder);
        return;
    }
    rlimit limit{};
    const bool is_known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
    const rlim_t end = is_known ? std::min(limit.rlim_cur, most_tried) : most_tried;
    for (int number = first; number < static_cast<int>(end); ++number) ::close(number);
}

[[noreturn]] void watch(int line, int launchers) noexcept {
    ::prctl(PR_SET_NAME, "tuttirun-guard");
    ::setsid();  // what a terminal, or somebody's kill, sends to the launcher's group is not for it
    // It holds nothing open but its end of the line; if it held the launcher's as well, the line
    // would never end.
    ::dup2(line, STDIN_FILENO);
    for (const int number : {STDOUT_FILENO, STDERR_FILENO, launchers, line}) {
        if (number != STDIN_FILENO) ::close(number);
    }
    if (::syscall(SYS_close_range, 1U, UINT_MAX, 0U) != 0) close_each_from(1);
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
        throw call_error("socketpair", "cannot make a pair of sockets", errno);
    }
    line_ = net::Descriptor(ends[0]);
    const net::Descriptor other(ends[1]);
    child_ = ::fork();
    if (child_ < 0) throw process_error("cannot start a process", errno);
    if (child_ == 0) watch(other.get(), line_.get());
}

// Nothing else may ever reap it, as the first process of many containers reaps no strangers.
Guard::~Guard() {
    line_.reset();
    ::kill(child_, SIGCONT);  // somebody may have stopped it
    while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void Guard::add(pid_t group) const {
    tell(line_.get(), {group, true});
}

void Guard::remove(pid_t group) const {
    tell(line_.get(), {group, false});
}

}  // namespace tutti::launch
