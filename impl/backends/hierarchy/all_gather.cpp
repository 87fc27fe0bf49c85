// Three steps: the ranks of a host gather their pieces; one of them, or several for long data, each
// with a part, exchange them with the other hosts; the host's ranks gather the result.
#include "collectives.hpp"
#include "lanes.hpp"
#include "table.hpp"

namespace tutti::hierarchy {

namespace {

// Exchanges the pieces of this rank's lane, in both directions.
void across(const CallContext& context, int lanes, std::span<const Bytes> outputs) {
    const Hosts& hosts = context.hosts;
    std::vector<Joined> blocks;
    std::vector<Bytes> parts;
    for (int host = 0; host < hosts.count(); ++host) {
        blocks.emplace_back(column(hosts, host, hosts.local_rank(), lanes, outputs));
        parts.push_back(blocks.back().all());
    }
    const auto own = static_cast<size_t>(hosts.host());
    blocks[own].pack();
    Exchange exchange = context.between(hosts.lane(hosts.local_rank()));
    algorithm::all_gather(exchange, parts[own], parts);
    for (size_t host = 0; host < blocks.size(); ++host) {
        if (host != own) blocks[host].unpack();
    }
}

// Gives the pieces that came from one host to all ranks of this one.
void spread(const CallContext& context, int host, int lanes, std::span<const Bytes> outputs,
            bool is_whole) {
    if (lanes == 1) {
        for (const Bytes piece : runs(context.hosts, host, is_whole, outputs)) {
            broadcast_inside(context, piece, 0);
        }
        return;
    }
    for (size_t index = 0; index < rows(context.hosts, host, lanes); ++index) {
        const auto pieces = row(context.hosts, host, index, lanes, outputs);
        all_gather_inside(context, pieces[static_cast<size_t>(context.hosts.local_rank())], pieces);
    }
}

}  // namespace

void all_gather(const CallContext& context, ConstBytes input, std::span<const Bytes> outputs,
                bool is_whole) {
    const Hosts& hosts = context.hosts;
    const int lanes = lanes_for(algorithm::total_size(outputs), hosts.fewest());
    all_gather_inside(context, input, column(hosts, hosts.host(), 0, 1, outputs));
    if (hosts.local_rank() < lanes) across(context, lanes, outputs);
    for (int host = 0; host < hosts.count(); ++host) {
        if (host != hosts.host()) spread(context, host, lanes, outputs, is_whole);
    }
}

}  // namespace tutti::hierarchy
