// Which algorithm serves which call: the tables, and how a call becomes the memory that algorithms
// move.
#include "algorithm.hpp"
#include "base/assert.hpp"

namespace tutti::algorithm {

namespace {

constexpr size_t KiB = 1024;
constexpr size_t any_size = SIZE_MAX;

// The first rule that allows the size and the number of ranks. What the size is of, each table
// says; it must be the same on all ranks.
template <typename Algorithm>
struct Rule {
    size_t longest;
    int fewest_ranks;
    Algorithm* use;
};

template <typename Algorithm, size_t rules>
Algorithm* choose(const Rule<Algorithm> (&table)[rules], size_t bytes, int ranks) {
    for (const auto& rule : table) {
        if (bytes <= rule.longest && ranks >= rule.fewest_ranks) return rule.use;
    }
    return table[rules - 1].use;
}

// tests/unit/backend/algorithm_bench measures them.

// The whole.
constexpr Rule<decltype(ring_all_reduce)> all_reduces[] = {
    {512 * KiB, 16, recursive_doubling_all_reduce},
    {128 * KiB, 8, recursive_doubling_all_reduce},
    {64 * KiB, 2, recursive_doubling_all_reduce},
    {any_size, 2, ring_all_reduce},
};
// The whole. On one host the tree stays a little ahead, but over a network the root's line would
// carry long data log2(ranks) times.
constexpr Rule<decltype(ring_reduce)> reduces[] = {
    {4096 * KiB, 2, tree_reduce},
    {any_size, 3, ring_reduce},
    {any_size, 2, tree_reduce},
};
// All parts.
constexpr Rule<decltype(ring_all_gather)> all_gathers[] = {
    {256 * KiB, 16, bruck_all_gather},
    {64 * KiB, 8, bruck_all_gather},
    {16 * KiB, 4, bruck_all_gather},
    {any_size, 2, ring_all_gather},
};
// One part.
constexpr Rule<decltype(direct_gather)> gathers[] = {
    {512, 16, tree_gather},
    {any_size, 2, direct_gather},
};
// One part.
constexpr Rule<decltype(direct_scatter)> scatters[] = {
    {4 * KiB, 16, tree_scatter},
    {512, 8, tree_scatter},
    {any_size, 2, direct_scatter},
};
// All parts.
constexpr Rule<decltype(ring_reduce_scatter)> reduce_scatters[] = {
    {512 * KiB, 16, recursive_halving_reduce_scatter},
    {64 * KiB, 3, recursive_halving_reduce_scatter},
    {16 * KiB, 2, recursive_halving_reduce_scatter},
    {any_size, 2, ring_reduce_scatter},
};
// One piece, where all have one size.
constexpr Rule<decltype(bruck_all_to_all)> all_to_alls[] = {
    {4 * KiB, 4, bruck_all_to_all},
    {any_size, 2, pairwise_all_to_all},
};

void gather_all(Exchange& exchange, ConstBytes input, std::span<const Bytes> parts) {
    copy(parts[static_cast<size_t>(exchange.rank())], input);
    choose(all_gathers, total_size(parts), exchange.size())(exchange, parts);
}

// What this rank brings into a reduction.
ConstBytes contribution(Exchange& exchange, ConstBytes input, const Reduction& reduction) {
    if (!reduction.changes_input()) return input;
    const Bytes room = exchange.room(input.size());
    reduction.begin(room, input);
    return room;
}

bool is_ordered(const Reduction& reduction, int ranks) {
    return !reduction.op.is_commutative() || reduction.must_combine_at_once(ranks);
}

void reduce_and_scatter(Exchange& exchange, std::vector<ConstBytes> inputs, Bytes output,
                        const Reduction& reduction) {
    for (ConstBytes& input : inputs) input = contribution(exchange, input, reduction);
    auto* const how =
        is_ordered(reduction, exchange.size())
            ? ordered_reduce_scatter
            : choose(reduce_scatters, total_size<const std::byte>(inputs), exchange.size());
    how(exchange, inputs, output, reduction);
}

// In place the inputs are copied away first.
std::vector<ConstBytes> put_aside(Exchange& exchange, std::span<const ConstBytes> inputs) {
    std::vector<ConstBytes> result;
    for (const ConstBytes& input : inputs) {
        const Bytes room = exchange.room(input.size());
        copy(room, input);
        result.push_back(room);
    }
    return result;
}

void serve(Exchange& exchange, const Broadcast& call) {
    tree_broadcast(exchange, call.buffer.bytes(), call.source);
}

void serve(Exchange& exchange, const AllReduce& call) {
    const Bytes data = call.output.bytes();
    const Reduction reduction{call.output.dtype, call.op};
    reduction.begin(data, call.input.bytes());
    if (reduction.must_combine_at_once(exchange.size())) {
        return ordered_all_reduce(exchange, data, reduction);
    }
    if (!call.op.is_commutative()) return recursive_doubling_all_reduce(exchange, data, reduction);
    choose(all_reduces, data.size(), exchange.size())(exchange, data, reduction);
}

void serve(Exchange& exchange, const Barrier&) {
    dissemination_barrier(exchange);
}

void serve(Exchange& exchange, const Reduce& call) {
    const Reduction reduction{call.input.dtype, call.op};
    const ConstBytes input = contribution(exchange, call.input.bytes(), reduction);
    auto* const reduce = is_ordered(reduction, exchange.size())
                             ? ordered_reduce
                             : choose(reduces, input.size(), exchange.size());
    reduce(exchange, input, call.output.bytes(), call.destination, reduction);
}

void serve(Exchange& exchange, const AllGather& call) {
    gather_all(exchange, call.input.bytes(), bytes_of(call.outputs));
}

void serve(Exchange& exchange, const AllGatherIntoTensor& call) {
    gather_all(exchange, call.input.bytes(), parts_of(call.output, exchange.size()));
}

void serve(Exchange& exchange, const Gather& call) {
    const ConstBytes input = call.input.bytes();
    choose(gathers, input.size(), exchange.size())(exchange, input, bytes_of(call.outputs),
                                                   call.destination);
}

void serve(Exchange& exchange, const Scatter& call) {
    const Bytes output = call.output.bytes();
    choose(scatters, output.size(), exchange.size())(exchange, bytes_of(call.inputs), output,
                                                     call.source);
}

void serve(Exchange& exchange, const ReduceScatter& call) {
    reduce_and_scatter(exchange, bytes_of(call.inputs), call.output.bytes(),
                       {call.output.dtype, call.op});
}

void serve(Exchange& exchange, const ReduceScatterTensor& call) {
    reduce_and_scatter(exchange, parts_of(call.input, exchange.size()), call.output.bytes(),
                       {call.output.dtype, call.op});
}

void serve(Exchange& exchange, const AllToAll& call) {
    auto inputs = bytes_of(call.inputs);
    if (call.is_in_place()) inputs = put_aside(exchange, inputs);
    pairwise_all_to_all(exchange, inputs, bytes_of(call.outputs));
}

void serve(Exchange& exchange, const AllToAllSingle& call) {
    auto inputs = parts_of(call.input, exchange.size(), call.input_splits);
    if (call.is_in_place()) inputs = put_aside(exchange, inputs);
    const auto outputs = parts_of(call.output, exchange.size(), call.output_splits);
    if (!call.is_even()) return pairwise_all_to_all(exchange, inputs, outputs);
    choose(all_to_alls, outputs.front().size(), exchange.size())(exchange, inputs, outputs);
}

void serve(Exchange& exchange, const MonitoredBarrier& call) {
    monitored_barrier(exchange, call.wait_all_ranks);
}

void serve(Exchange& exchange, const AllReduceAddends& call) {
    all_reduce_addends(exchange, call);
}

void serve(Exchange& exchange, const Parcels& call) {
    parcels(exchange, call);
}

// Ranks only tell each other whether they have memory: here nobody sees another one's.
void serve(Exchange& exchange, const Alloc& call) {
    call.make();
    std::vector<uint32_t> has(static_cast<size_t>(exchange.size()));
    const uint32_t own = call.outcome->memory ? 1 : 0;
    std::vector<Bytes> parts;
    for (uint32_t& one : has) parts.push_back(std::as_writable_bytes(std::span(&one, 1)));
    gather_all(exchange, std::as_bytes(std::span(&own, 1)), parts);
    const auto without = std::ranges::find(has, 0U);
    if (without != has.end()) call.outcome->without = static_cast<int>(without - has.begin());
}

void serve(Exchange&, const Coalesced&) {
    TUTTI_ASSERT(false);  // each of its calls has an Exchange of its own
}

}  // namespace

void run(Exchange& exchange, const Collective& call) {
    std::visit([&](const auto& one) { serve(exchange, one); }, call);
}

void run(Channel& channel, const Collective& call, uint64_t number, const Deadline& deadline) {
    if (channel.size() == 1) return run_alone(call);
    if (channel.compares_first()) compare_calls(channel, fingerprint(call), number, deadline);
    if (const auto* coalesced = std::get_if<Coalesced>(&call)) {
        return run_coalesced(channel, *coalesced, number, deadline);
    }
    Exchange exchange(channel, fingerprint(call), number, deadline);
    run(exchange, call);
}

}  // namespace tutti::algorithm
