// The limits, and what the kernel tells about a connection. Any thread.
#include "line.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "address.hpp"
#include "base/environment.hpp"

namespace tutti::net {

namespace {

constexpr const char* variable = "TUTTI_CONNECTION_TIMEOUT_MS";
constexpr int64_t lowest_ms = 3000;
constexpr int64_t highest_ms = 3'600'000;
// Six times an unanswered packet has been sent by then, or five probes: a line that is down for ten
// seconds is no dead one.
constexpr int64_t usual_ms = 20'000;
// Below what any router remembers, with room for a probe that is lost.
constexpr int most_idle_s = 5;
constexpr int most_interval_s = 3;
constexpr int most_probes = 127;  // that the kernel takes
// However long it takes: time alone proves nothing after a pause of this machine.
constexpr int least_unanswered = 4;
// The place of tcpi_snd_wnd, what the other end takes: Linux tells it since 5.4, and netinet/tcp.h
// does not know it yet.
constexpr size_t window_at = 228;

struct Limits {
    int64_t timeout_ms = usual_ms;
    int idle_s = 0;      // then the first probe
    int interval_s = 0;  // then the next
    int probes = 0;      // unanswered ones end the connection
};

Limits read_limits() {
    Limits limits;
    limits.timeout_ms = environment_number(variable, lowest_ms, highest_ms).value_or(usual_ms);
    const auto timeout_s = static_cast<int>(limits.timeout_ms / 1000);
    limits.idle_s = std::min(most_idle_s, timeout_s / 3);
    const int rest_s = timeout_s - limits.idle_s;
    limits.interval_s = std::clamp(rest_s / 5, 1, most_interval_s);
    limits.interval_s = std::max(limits.interval_s, (rest_s + most_probes - 1) / most_probes);
    limits.probes = rest_s / limits.interval_s;
    return limits;
}

// Once: threads that adopt connections must not read what the program may set by then.
const Limits& limits() {
    static const Limits limits = read_limits();
    return limits;
}

bool is_within_host(int fd) {
    Address local;
    Address remote;
    return getsockname(fd, local.get(), &local.size) == 0 &&
           getpeername(fd, remote.get(), &remote.size) == 0 && local.host() == remote.host();
}

void set(int fd, int level, int option, int value) {
    // Fails on a socket that is not TCP, which has no line.
    (void)setsockopt(fd, level, option, &value, sizeof value);
}

}  // namespace

int64_t line_timeout_ms() {
    return limits().timeout_ms;
}

int64_t line_look_ms() {
    return limits().timeout_ms / 10;
}

void keep_alive(int fd) {
    const Limits& now = limits();
    if (is_within_host(fd)) return;
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, now.idle_s);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, now.interval_s);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, now.probes);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

bool is_dead(int fd) noexcept {
    std::array<std::byte, 256> told{};
    auto size = static_cast<socklen_t>(told.size());
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, told.data(), &size) != 0) return false;
    tcp_info info{};
    std::memcpy(&info, told.data(), sizeof info);
    if (info.tcpi_last_ack_recv < limits().timeout_ms) return false;
    // Where the other end takes no more, only probes ask whether it is there, ever more rarely.
    uint32_t window = 1;
    if (size >= window_at + sizeof window)
        std::memcpy(&window, told.data() + window_at, sizeof window);
    const bool is_full = window == 0;
    const int unanswered =
        is_full ? info.tcpi_probes : std::max(info.tcpi_retransmits, info.tcpi_probes);
    return unanswered >= least_unanswered;
}

}  // namespace tutti::net
