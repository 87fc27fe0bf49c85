// Waiting for a descriptor. Any thread.
#include "wait.hpp"

#include <poll.h>

#include <cerrno>

#include "base/error.hpp"

namespace tutti::net {

Waited wait_descriptor(int fd, short events, const Deadline& deadline, int cancel_fd) {
    pollfd entries[2] = {{fd, events, 0}, {cancel_fd, POLLIN, 0}};
    while (true) {
        // A wait longer than poll's int comes back early and goes round again.
        const int count = ::poll(entries, 2, deadline.poll_ms());
        if (count < 0 && errno != EINTR)
            throw Error(TUTTI_ERR_NETWORK, cat("poll failed: ", errno_text(errno)), -1, errno);
        if (count > 0 && entries[1].revents != 0) return Waited::Cancelled;
        if (count > 0) return Waited::Ready;
        if (deadline.expired()) return Waited::Expired;
    }
}

}  // namespace tutti::net
