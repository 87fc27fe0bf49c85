// Short data are combined by one rank of each host, who does the same with the other hosts'. Of
// long data several ranks of each host combine a part each, all over the network at the same time.
#include "collectives.hpp"
#include "table.hpp"

namespace tutti::hierarchy {

namespace {

using algorithm::Reduction;

// All hosts' ranks of that place have their host's part in `data`, in place.
void across(const Trip& trip, const View& data, const ReduceOp& op) {
    Exchange exchange = trip.between(trip.hosts.lane(trip.hosts.place()));
    algorithm::run(exchange, AllReduce{data, data, between(op)});
    Reduction{data.dtype, op}.finish(data.bytes(), trip.hosts.ranks());
}

void by_one(const Trip& trip, const AllReduce& call) {
    reduce_inside(trip, {call.input, call.output, inside(call.op), 0});
    if (trip.hosts.place() == 0) across(trip, call.output, call.op);
    broadcast_inside(trip, call.output.bytes(), 0);
}

// A part for each of the first places, and nothing for the others.
template <typename Byte>
std::vector<std::span<Byte>> shares(std::span<Byte> data, size_t element, int lanes,
                                    size_t places) {
    auto parts = algorithm::even_parts(data, element, lanes);
    parts.resize(places);
    return parts;
}

void by_several(const Trip& trip, const AllReduce& call, int lanes) {
    const size_t places = trip.hosts.here().size();
    const size_t element = element_size(call.output.dtype);
    const auto inputs = shares(call.input.bytes(), element, lanes, places);
    const auto outputs = shares(call.output.bytes(), element, lanes, places);
    const Bytes mine = outputs[static_cast<size_t>(trip.hosts.place())];
    const View part{mine.data(), static_cast<int64_t>(mine.size() / element), call.output.dtype};
    reduce_scatter_inside(trip, inputs, part, inside(call.op));
    if (trip.hosts.place() < lanes) across(trip, part, call.op);
    all_gather_inside(trip, mine, outputs);
}

}  // namespace

void all_reduce(const Trip& trip, const AllReduce& call) {
    const int lanes = lanes_for(call.output.size(), trip.hosts.fewest());
    if (lanes == 1) return by_one(trip, call);
    by_several(trip, call, lanes);
}

}  // namespace tutti::hierarchy
