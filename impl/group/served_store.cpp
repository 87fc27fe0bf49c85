#include "served_store.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "membership/address.hpp"
#include "membership/protocol.hpp"
#include "net/interfaces.hpp"
#include "net/socket.hpp"

namespace tutti {

namespace {

// The time that a store may take to prove itself before another address, or the same, is tried.
constexpr int64_t answer_ms = 2000;
const std::string proof_key = "tutti/served";

std::shared_ptr<Store> connect(const std::string& host, int port, bool serve,
                               const Deadline& deadline) {
    TcpStoreOptions options;
    options.host = host;
    options.port = port;
    options.is_master = serve;
    options.wait_for_workers = false;
    options.timeout_ms = deadline.poll_ms();
    return make_tcp_store(options);
}

bool proves_itself(Store& store, const membership::Token& token, const Deadline& deadline) {
    return store.check(Store::Keys(&proof_key, 1), deadline) &&
           store.get(proof_key, deadline) == std::string(token.begin(), token.end());
}

std::vector<net::Address> addresses_to(const membership::Invitation& place) {
    const auto own = net::addresses_of_this_host();
    const membership::View view{.same_host = place.host == net::host_identity(),
                                .route = "",
                                .usual_route = "",
                                .own = own};
    return net::numeric_addresses(membership::seen_from_here(place.addresses, view), place.port);
}

}  // namespace

ServedStore serve_store(const Deadline& deadline) {
    const auto chosen = membership::addresses_by_environment();
    const auto addresses = chosen ? *chosen : membership::addresses_by_route("127.0.0.1");
    auto store = connect(chosen ? chosen->front() : "", 0, true, deadline);
    membership::Invitation place;
    place.token = membership::random_token();
    store->set(proof_key, std::string(place.token.begin(), place.token.end()), deadline);
    place.port = *tcp_store_port(*store);
    place.host = net::host_identity();
    place.addresses =
        membership::without_interfaces(chosen ? std::vector{chosen->front()} : addresses);
    return {std::move(store), std::move(place)};
}

std::shared_ptr<Store> find_store(const membership::Invitation& place, int64_t refused_ms,
                                  const Deadline& deadline) {
    auto candidates = addresses_to(place);
    std::string reasons;
    const auto add_reason = [&](const std::string& reason) {
        reasons += cat(reasons.empty() ? "" : "; ", reason);
    };
    while (!candidates.empty()) {
        // Which one answers; the store makes its own connection to it.
        std::string found;
        try {
            found = net::Socket::connect(candidates, deadline, -1, Deadline::after_ms(refused_ms))
                        .remote_address();
        } catch (const Error& error) {
            add_reason(error.what());
            break;
        }
        const bool is_last = std::ranges::all_of(
            candidates, [&](const net::Address& one) { return one.host() == found; });
        try {
            const Deadline answer = deadline.or_earlier(Deadline::after_ms(answer_ms));
            auto store = connect(found, place.port, false, answer);
            if (proves_itself(*store, place.token, answer)) return store;
            add_reason(cat("another process answers at ", found));
        } catch (const Error& error) {
            if (is_last && !deadline.expired()) continue;  // it is slow, or has ended meanwhile
            add_reason(error.what());
        }
        std::erase_if(candidates, [&](const net::Address& one) { return one.host() == found; });
    }
    throw Error(TUTTI_ERR_NETWORK,
                cat("cannot reach the store of rank ", place.rank, ": ", reasons), place.rank);
}

}  // namespace tutti
