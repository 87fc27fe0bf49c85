// Short data are combined by one rank of each host, who does the same with the other hosts'. Of
// long data several ranks of each host combine a part each, all over the network at the same time.
#include "collectives.hpp"
#include "sums.hpp"
#include "table.hpp"

namespace tutti::hierarchy {

namespace {

// Every host's part of the sum as float32, which come together in parts if they are long.
void round_across(Exchange& exchange, const CallContext& context, Bytes sums, Bytes output,
                  const Reduction& reduction) {
    const int ranks = context.hosts.ranks();
    if (output.size() <= whole_sums_bytes) {
        algorithm::all_reduce(exchange, sums, sums, between(reduction));
        return reduction.round(output, sums, ranks);
    }
    const auto parts = algorithm::even_parts(sums, sizeof(float), exchange.size());
    const auto results = algorithm::even_parts(output, reduction.element(), exchange.size());
    const std::vector<ConstBytes> inputs(parts.begin(), parts.end());
    const auto own = static_cast<size_t>(exchange.rank());
    algorithm::reduce_scatter(exchange, inputs, parts[own], between(reduction));
    reduction.round(results[own], parts[own], ranks);
    algorithm::all_gather(exchange, results[own], results);
}

// All hosts' ranks of that place have their host's part in `sums`, which is `output` unless it is
// partial.
void across(const CallContext& context, Bytes sums, Bytes output, const Reduction& reduction) {
    Exchange exchange = context.between(context.hosts.lane(context.hosts.local_rank()));
    if (inside(reduction).is_partial) {
        return round_across(exchange, context, sums, output, reduction);
    }
    algorithm::all_reduce(exchange, sums, sums, between(reduction));
    reduction.finish(sums, context.hosts.ranks());
}

void by_one(const CallContext& context, ConstBytes input, Bytes output,
            const Reduction& reduction) {
    const bool is_leader = context.hosts.local_rank() == 0;
    const Sums sums(inside(reduction), is_leader ? output : Bytes{});
    reduce_inside(context, input, is_leader ? sums.all() : output, 0, inside(reduction));
    if (is_leader) across(context, sums.all(), output, reduction);
    broadcast_inside(context, output, 0);
}

// A part for each of the first places, and nothing for the others.
template <typename Byte>
std::vector<std::span<Byte>> shares(std::span<Byte> data, size_t element, int lanes,
                                    size_t places) {
    auto parts = algorithm::even_parts(data, element, lanes);
    parts.resize(places);
    return parts;
}

void by_several(const CallContext& context, ConstBytes input, Bytes output,
                const Reduction& reduction, int lanes) {
    const size_t places = context.hosts.here().size();
    const auto inputs = shares(input, reduction.element(), lanes, places);
    const auto outputs = shares(output, reduction.element(), lanes, places);
    const Bytes mine = outputs[static_cast<size_t>(context.hosts.local_rank())];
    const Sums sums(inside(reduction), mine);
    reduce_scatter_inside(context, inputs, sums.all(), inside(reduction));
    if (context.hosts.local_rank() < lanes) across(context, sums.all(), mine, reduction);
    all_gather_inside(context, mine, outputs);
}

}  // namespace

void all_reduce(const CallContext& context, ConstBytes input, Bytes output,
                const Reduction& reduction) {
    const int lanes = lanes_for(output.size(), context.hosts.fewest());
    if (lanes == 1) return by_one(context, input, output, reduction);
    by_several(context, input, output, reduction, lanes);
}

}  // namespace tutti::hierarchy
