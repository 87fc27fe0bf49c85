// Every rank swaps pieces with those of other hosts, straight, while those of its host show each
// other theirs. All of one length.
#include "backend/shm/collectives.hpp"
#include "base/block.hpp"
#include "collectives.hpp"
#include "lanes.hpp"

namespace tutti::hierarchy {

void all_to_all(const Trip& trip, const AllToAllSingle& call) {
    const Hosts& hosts = trip.hosts;
    auto inputs = parts_of(call.input, hosts.ranks());
    const auto outputs = parts_of(call.output, hosts.ranks());
    Block aside;  // what goes out where something comes in
    if (call.is_in_place()) {
        aside.grow(call.input.size());
        algorithm::copy({aside.data(), call.input.size()}, call.input.bytes());
        inputs =
            parts_of(ConstView{aside.data(), call.input.count, call.input.dtype}, hosts.ranks());
    }
    Exchange exchange = trip.among_all();
    std::vector<Exchange::Ticket> arriving;
    for (int distance = 1; distance < hosts.ranks(); ++distance) {
        const int peer = algorithm::around(hosts.rank(), distance, hosts.ranks());
        if (hosts.host_of(peer) == hosts.host()) continue;
        const auto at = static_cast<size_t>(peer);
        arriving.push_back(exchange.swap(peer, inputs[at], outputs[at]).incoming);
    }
    const auto given = column<const std::byte>(hosts, hosts.host(), 0, 1, inputs);
    const auto taken = column<std::byte>(hosts, hosts.host(), 0, 1, outputs);
    if (trip.team != nullptr) {
        shm::all_to_all(*trip.team, given, taken);
    } else {
        algorithm::copy(taken.front(), given.front());
    }
    for (const auto ticket : arriving) exchange.wait(ticket);
    exchange.wait_all();
}

}  // namespace tutti::hierarchy
