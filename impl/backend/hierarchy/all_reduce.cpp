// Short data are combined by one rank of each host, who does the same with the other hosts'. Of
// long data several ranks of each host combine a part each, all over the network at the same time.
#include "collectives.hpp"
#include "table.hpp"

namespace tutti::hierarchy {

namespace {

// All hosts' ranks of that place have their host's part in `data`, in place.
void across(const Trip& trip, Bytes data, const Reduction& reduction) {
    Exchange exchange = trip.between(trip.hosts.lane(trip.hosts.place()));
    algorithm::all_reduce(exchange, data, data, between(reduction));
    reduction.finish(data, trip.hosts.ranks());
}

void by_one(const Trip& trip, ConstBytes input, Bytes output, const Reduction& reduction) {
    reduce_inside(trip, input, output, 0, inside(reduction));
    if (trip.hosts.place() == 0) across(trip, output, reduction);
    broadcast_inside(trip, output, 0);
}

// A part for each of the first places, and nothing for the others.
template <typename Byte>
std::vector<std::span<Byte>> shares(std::span<Byte> data, size_t element, int lanes,
                                    size_t places) {
    auto parts = algorithm::even_parts(data, element, lanes);
    parts.resize(places);
    return parts;
}

void by_several(const Trip& trip, ConstBytes input, Bytes output, const Reduction& reduction,
                int lanes) {
    const size_t places = trip.hosts.here().size();
    const auto inputs = shares(input, reduction.element(), lanes, places);
    const auto outputs = shares(output, reduction.element(), lanes, places);
    const Bytes mine = outputs[static_cast<size_t>(trip.hosts.place())];
    reduce_scatter_inside(trip, inputs, mine, inside(reduction));
    if (trip.hosts.place() < lanes) across(trip, mine, reduction);
    all_gather_inside(trip, mine, outputs);
}

}  // namespace

void all_reduce(const Trip& trip, ConstBytes input, Bytes output, const Reduction& reduction) {
    const int lanes = lanes_for(output.size(), trip.hosts.fewest());
    if (lanes == 1) return by_one(trip, input, output, reduction);
    by_several(trip, input, output, reduction, lanes);
}

}  // namespace tutti::hierarchy
