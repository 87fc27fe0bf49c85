// Every rank swaps pieces with those of other hosts, straight, while those of its host show each
// other theirs. All of one length.
#include "backends/shm/collectives.hpp"
#include "base/block.hpp"
#include "collectives.hpp"
#include "lanes.hpp"

namespace tutti::hierarchy {

void all_to_all(const CallContext& context, std::span<const ConstBytes> inputs,
                std::span<const Bytes> outputs, bool in_place) {
    const Hosts& hosts = context.hosts;
    Block room;
    std::vector<ConstBytes> aside;  // what goes out where something comes in
    if (in_place) {
        const size_t piece = inputs.front().size();
        room.grow(inputs.size() * piece);
        for (const ConstBytes input : inputs) {
            const Bytes copied{room.data() + aside.size() * piece, piece};
            copy(copied, input);
            aside.emplace_back(copied);
        }
        inputs = aside;
    }
    Exchange exchange = context.among_all();
    std::vector<Exchange::Ticket> arriving;
    for (int distance = 1; distance < hosts.ranks(); ++distance) {
        const int peer = algorithm::around(hosts.rank(), distance, hosts.ranks());
        if (hosts.host_of(peer) == hosts.host()) continue;
        const auto at = static_cast<size_t>(peer);
        arriving.push_back(exchange.swap(peer, inputs[at], outputs[at]).incoming);
    }
    const auto given = column(hosts, hosts.host(), 0, 1, inputs);
    const auto taken = column(hosts, hosts.host(), 0, 1, outputs);
    if (context.team != nullptr) {
        shm::all_to_all(*context.team, given, taken);
    } else {
        copy(taken.front(), given.front());
    }
    for (const auto ticket : arriving) exchange.wait(ticket);
    exchange.wait_all();
}

}  // namespace tutti::hierarchy
