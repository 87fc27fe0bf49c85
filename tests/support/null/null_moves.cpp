#include "null_moves.hpp"

#include <cstring>

#include "base/assert.hpp"
#include "reduce/reduce.hpp"

namespace tutti::test {

namespace {

using Copy = std::vector<std::byte>;
using Calls = std::vector<const FlatCall*>;
using Kind = FlatCall::Kind;

void copy_all(Bytes to, ConstBytes from) {
    TUTTI_ASSERT(to.size() == from.size());
    if (!from.empty() && to.data() != from.data()) std::memmove(to.data(), from.data(), to.size());
}

// What each rank brings, one piece after the other. Outputs may be inputs, so nothing is written
// before all is read.
std::vector<Copy> inputs_of(const Calls& calls) {
    std::vector<Copy> all;
    for (const FlatCall* call : calls) {
        Copy& mine = all.emplace_back();
        for (const ConstBytes piece : call->inputs) {
            mine.insert(mine.end(), piece.begin(), piece.end());
        }
    }
    return all;
}

// What comes of the inputs of all ranks.
Copy reduced(const Calls& calls) {
    const tutti_dtype dtype = calls.front()->dtype;
    std::vector<Copy> all = inputs_of(calls);
    Copy& sum = all.front();
    const size_t count = sum.size() / element_size(dtype);
    std::vector<const void*> contributions;
    for (size_t rank = 0; rank < all.size(); ++rank) {
        void* const mine = all[rank].data();
        begin_reduction(mine, mine, count, dtype, calls[rank]->op);
        contributions.push_back(mine);
    }
    reduce_many(sum.data(), contributions, count, dtype, calls.front()->op);
    end_reduction(sum.data(), count, dtype, calls.front()->op, static_cast<int>(calls.size()));
    return std::move(sum);
}

void broadcast(const Calls& calls) {
    const Bytes from = calls[static_cast<size_t>(calls.front()->root)]->buffer();
    for (const FlatCall* call : calls) copy_all(call->buffer(), from);
}

void all_reduce(const Calls& calls) {
    const Copy sum = reduced(calls);
    for (const FlatCall* call : calls) copy_all(call->output(), sum);
}

void reduce(const Calls& calls) {
    const Copy sum = reduced(calls);
    copy_all(calls[static_cast<size_t>(calls.front()->root)]->output(), sum);
}

void reduce_scatter(const Calls& calls) {
    const Copy sum = reduced(calls);
    size_t begin = 0;
    for (const FlatCall* call : calls) {
        const Bytes output = call->output();
        copy_all(output, ConstBytes(sum).subspan(begin, output.size()));
        begin += output.size();
    }
}

void all_gather(const Calls& calls) {
    const std::vector<Copy> inputs = inputs_of(calls);
    for (const FlatCall* call : calls) {
        for (size_t from = 0; from < inputs.size(); ++from) {
            copy_all(call->outputs[from], inputs[from]);
        }
    }
}

void all_to_all(const Calls& calls) {
    const std::vector<Copy> inputs = inputs_of(calls);
    for (size_t from = 0; from < calls.size(); ++from) {
        size_t begin = 0;
        for (size_t to = 0; to < calls.size(); ++to) {
            const Bytes output = calls[to]->outputs[from];
            copy_all(output, ConstBytes(inputs[from]).subspan(begin, output.size()));
            begin += output.size();
        }
    }
}

void coalesced(const Calls& calls) {
    for (size_t index = 0; index < calls.front()->calls.size(); ++index) {
        Calls step;
        for (const FlatCall* call : calls) step.push_back(&call->calls[index]);
        move_data(step);
    }
}

}  // namespace

void move_data(const std::vector<const FlatCall*>& calls) {
    switch (calls.front()->kind) {
        case Kind::Barrier:
            return;
        case Kind::Broadcast:
            return broadcast(calls);
        case Kind::AllReduce:
            return all_reduce(calls);
        case Kind::Reduce:
            return reduce(calls);
        case Kind::ReduceScatter:
            return reduce_scatter(calls);
        case Kind::AllGather:
            return all_gather(calls);
        case Kind::AllToAll:
            return all_to_all(calls);
        case Kind::Coalesced:
            return coalesced(calls);
        default:  // the group refuses what is not among the capabilities
            TUTTI_ASSERT(false);
    }
}

}  // namespace tutti::test
