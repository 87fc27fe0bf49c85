#include "rejoin.hpp"

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "net/socket.hpp"

namespace tutti::membership {

namespace {

constexpr int64_t max_ms = 3000;  // what a way to the next coordinator may take

}  // namespace

void Rejoin::start(std::vector<net::Address> addresses, Reached reached) {
    if (errand_.start([this, addresses, reached] { connect(addresses, reached); })) return;
    connect(addresses, reached);  // here, then, though all else waits
}

// Its door was open before ranks knew of each other: who refuses is gone.
void Rejoin::connect(const std::vector<net::Address>& addresses, const Reached& reached) noexcept {
    try {
        net::Socket socket = net::Socket::connect_once(addresses, Deadline::after_ms(max_ms));
        const int descriptor = socket.release();
        loop_.post([reached, descriptor] { reached(descriptor, {}); });
    } catch (...) {
        loop_.post([reached, why = current_status()] { reached(-1, why); });
    }
}

}  // namespace tutti::membership
