// Waiting for a descriptor. Any thread.
#include "wait.hpp"

#include <poll.h>

#include <cerrno>
#include <vector>

#include "base/resource_limits.hpp"

namespace tutti::net {

namespace {

// The last entry is the one that cancels.
Waited wait_entries(std::span<pollfd> entries, const Deadline& deadline) {
    while (true) {
        // A wait longer than poll's int comes back early and goes round again.
        const int count = ::poll(entries.data(), entries.size(), deadline.poll_ms());
        if (count < 0 && errno != EINTR)
            throw system_error(TUTTI_ERR_NETWORK, "poll failed", errno);
        if (count > 0 && entries.back().revents != 0) return Waited::Cancelled;
        if (count > 0) return Waited::Ready;
        if (deadline.expired()) return Waited::Expired;
    }
}

}  // namespace

void await_input(int fd, const Deadline& deadline) noexcept {
    pollfd entry{fd, POLLIN, 0};
    ::poll(&entry, 1, deadline.poll_ms());
}

Waited wait_descriptor(int fd, short events, const Deadline& deadline, int cancel_fd) {
    pollfd entries[2] = {{fd, events, 0}, {cancel_fd, POLLIN, 0}};
    return wait_entries(entries, deadline);
}

Waited wait_descriptors(std::span<const int> fds, short events, const Deadline& deadline,
                        int cancel_fd) {
    std::vector<pollfd> entries;
    for (const int fd : fds) entries.push_back({fd, events, 0});
    entries.push_back({cancel_fd, POLLIN, 0});
    return wait_entries(entries, deadline);
}

void fail_cancelled(const std::string& what) {
    throw Error(TUTTI_ERR_ABORTED, cat(what, ": cancelled"));
}

}  // namespace tutti::net
