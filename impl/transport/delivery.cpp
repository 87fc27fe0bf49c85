#include "delivery.hpp"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "progress/sleep.hpp"

namespace tutti {

namespace {

// The peer has reset it, or both sides have ended: the kernel still counts what it has dropped.
bool is_closed(int socket) noexcept {
    tcp_info info{};
    socklen_t size = sizeof info;
    return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           info.tcpi_state == TCP_CLOSE;
}

bool has_unsent(int socket) noexcept {
    // Input that nobody read would make the kernel drop our output.
    std::array<char, 4096> nowhere;
    while (recv(socket, nowhere.data(), nowhere.size(), MSG_DONTWAIT) > 0) {
    }
    int unsent = 0;
    return ioctl(socket, SIOCOUTQ, &unsent) == 0 && unsent > 0 && !is_closed(socket);
}

}  // namespace

void deliver(const std::vector<int>& all, const std::function<bool(int socket)>& is_of_use,
             const Deadline& deadline) noexcept {
    for (const int socket : all) shutdown(socket, SHUT_WR);
    const auto holds_some = [&](int socket) { return is_of_use(socket) && has_unsent(socket); };
    while (std::ranges::count_if(all, holds_some) > 0 && !deadline.expired()) {
        sleep_for(std::chrono::milliseconds(1));  // the kernel has no event for it
    }
}

}  // namespace tutti
