// The ranks of a host gather their pieces; one of them, or several for long data, each with its
// part, gives them to the other hosts and gets theirs; and these the ranks of the host gather.
#include "collectives.hpp"
#include "lanes.hpp"
#include "table.hpp"

namespace tutti::hierarchy {

namespace {

// What this rank's lane carries, in both directions.
void across(const Trip& trip, int lanes, std::span<const Bytes> outputs) {
    const Hosts& hosts = trip.hosts;
    std::vector<Joined> blocks;
    std::vector<Bytes> parts;
    for (int host = 0; host < hosts.count(); ++host) {
        blocks.emplace_back(column(hosts, host, hosts.place(), lanes, outputs));
        parts.push_back(blocks.back().all());
    }
    const auto own = static_cast<size_t>(hosts.host());
    blocks[own].pack();
    Exchange exchange = trip.between(hosts.lane(hosts.place()));
    algorithm::all_gather(exchange, parts[own], parts);
    for (size_t host = 0; host < blocks.size(); ++host) {
        if (host != own) blocks[host].unpack();
    }
}

// What came from one host goes to all ranks of this one.
void spread(const Trip& trip, int host, int lanes, std::span<const Bytes> outputs, bool is_whole) {
    if (lanes == 1) {
        for (const Bytes piece : runs(trip.hosts, host, is_whole, outputs)) {
            broadcast_inside(trip, piece, 0);
        }
        return;
    }
    for (size_t index = 0; index < rows(trip.hosts, host, lanes); ++index) {
        const auto pieces = row(trip.hosts, host, index, lanes, outputs);
        all_gather_inside(trip, pieces[static_cast<size_t>(trip.hosts.place())], pieces);
    }
}

}  // namespace

void all_gather(const Trip& trip, ConstBytes input, std::span<const Bytes> outputs, bool is_whole) {
    const Hosts& hosts = trip.hosts;
    const int lanes = lanes_for(algorithm::total_size(outputs), hosts.fewest());
    all_gather_inside(trip, input, column(hosts, hosts.host(), 0, 1, outputs));
    if (hosts.place() < lanes) across(trip, lanes, outputs);
    for (int host = 0; host < hosts.count(); ++host) {
        if (host != hosts.host()) spread(trip, host, lanes, outputs, is_whole);
    }
}

}  // namespace tutti::hierarchy
