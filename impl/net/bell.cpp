#include "bell.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "base/open_descriptors.hpp"
#include "base/resource_limits.hpp"

namespace tutti::net {

namespace {

int open_event() {
    const int event = open_tracked([] { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
    if (event < 0) throw call_error("eventfd", "eventfd", errno);
    return event;
}

}  // namespace

Bell::Bell() : event_(open_event()) {}

void Bell::ring() const noexcept {
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);
}

void Bell::await_ring_or(int sockets, const Deadline& deadline) const noexcept {
    std::array<pollfd, 2> either{pollfd{sockets, POLLIN, 0}, pollfd{event_.get(), POLLIN, 0}};
    ::poll(either.data(), either.size(), deadline.poll_ms());
    if (either[1].revents == 0) return;
    uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(event_.get(), &count, sizeof count);
}

}  // namespace tutti::net
