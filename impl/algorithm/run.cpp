// Runs a call over a channel: the one place in this folder that knows the kinds of calls. On the
// thread of the call.
#include "algorithm.hpp"
#include "base/assert.hpp"

namespace tutti::algorithm {

namespace {

using Kind = FlatCall::Kind;

// With one rank, an input becomes an output. Reductions make every bool 0 or 1, and multiply by
// their factor, as they do with more ranks.
void move_alone(const FlatCall& call) {
    copy(call.output(), call.input());
}

void reduce_alone(const FlatCall& call) {
    const Reduction reduction = reduction_of(call);
    const Bytes output = call.output();
    reduction.begin(output, call.input());
    if (!call.op.is_reproducible()) return;
    // A sum of one number, whose bits change only for a NaN.
    const void* const all[] = {output.data()};
    reduction.combine_all(output, all, Stores::Ordinary);
}

}  // namespace

void run_alone(const FlatCall& call) {
    switch (call.kind) {
        case Kind::Broadcast:
        case Kind::Barrier:
            return;
        case Kind::AllGather:
        case Kind::Gather:
        case Kind::Scatter:
        case Kind::AllToAll:
            return move_alone(call);
        case Kind::AllReduce:
        case Kind::Reduce:
        case Kind::ReduceScatter:
            return reduce_alone(call);
        case Kind::AllReduceAddends:
            return all_reduce_addends_alone(call.inputs, call.output(), reduction_of(call));
        case Kind::ByteStrings:
            return byte_strings_alone(*call.byte_strings);
        case Kind::Alloc:
            return alloc_alone(*call.alloc);
        case Kind::Coalesced:
            for (const FlatCall& one : call.calls) run_alone(one);
            return;
    }
}

void run(Exchange& exchange, const FlatCall& call) {
    switch (call.kind) {
        case Kind::Broadcast:
            return broadcast(exchange, call.buffer(), call.root);
        case Kind::AllReduce:
            return all_reduce(exchange, call.input(), call.output(), reduction_of(call));
        case Kind::Barrier:
            return dissemination_barrier(exchange);
        case Kind::Reduce:
            return reduce(exchange, call.input(), call.output(), call.root, reduction_of(call));
        case Kind::AllGather:
            return all_gather(exchange, call.input(), call.outputs);
        case Kind::Gather:
            return gather(exchange, call.input(), call.outputs, call.root);
        case Kind::Scatter:
            return scatter(exchange, call.inputs, call.output(), call.root);
        case Kind::ReduceScatter:
            return reduce_scatter(exchange, call.inputs, call.output(), reduction_of(call));
        case Kind::AllToAll:
            return all_to_all(exchange, call.inputs, call.outputs, call.in_place,
                              call.sizes == FlatCall::Sizes::Even);
        case Kind::ByteStrings:
            return byte_strings(exchange, *call.byte_strings);
        case Kind::AllReduceAddends:
            return all_reduce_addends(exchange, call.inputs, call.output(), reduction_of(call));
        case Kind::Alloc:
            return alloc(exchange, *call.alloc);
        case Kind::Coalesced:  // each of its calls has an Exchange of its own
            TUTTI_ASSERT(false);
    }
}

void run(Channel& channel, const FlatCall& call, uint64_t sequence, const Deadline& deadline,
         const PastCalls& past) {
    if (channel.size() == 1) return run_alone(call);
    if (call.kind == Kind::Coalesced) {
        return run_coalesced(channel, call, sequence, deadline, past);
    }
    Exchange exchange(channel, call.fingerprint, sequence, deadline, past);
    run(exchange, call);
}

}  // namespace tutti::algorithm
