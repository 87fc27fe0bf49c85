// What a reduction does to memory, for algorithms that decide only who does it when. Any thread.
#pragma once

#include "call/flat.hpp"
#include "parts.hpp"
#include "reduce/reduce.hpp"

namespace tutti::algorithm {

struct Reduction {
    tutti_dtype dtype = TUTTI_UINT8;
    ReduceOp op = TUTTI_SUM;

    [[nodiscard]] size_t element() const { return element_size(dtype); }

    // Whether what a rank brings is not its input as it is: algorithms get what begin() makes of
    // it.
    [[nodiscard]] bool changes_input() const {
        return op.factor() != nullptr || (dtype == TUTTI_BOOL && op.user_function() != nullptr);
    }
    // `out` may be `input`.
    void begin(Bytes out, ConstBytes input) const {
        begin_reduction(out.data(), input.data(), input.size() / element(), dtype, op);
    }

    // Whether only combine_all() of what all the ranks bring gives the right bits.
    [[nodiscard]] bool must_combine_at_once(int ranks) const {
        return tutti::must_combine_at_once(dtype, op, static_cast<size_t>(ranks));
    }

    // `out` may be `one` or `other`. If the op commutes, op(one, other) is op(other, one) to the
    // last bit of all but users' functions; if not, `one` is of the lower ranks.
    void combine(Bytes out, ConstBytes one, ConstBytes other) const {
        if (out.empty()) return;
        reduce_to(out.data(), one.data(), other.data(), out.size() / element(), dtype, op);
    }
    void combine(Bytes into, ConstBytes from) const { combine(into, into, from); }
    // All of them in order; `out` may be one of them.
    void combine_all(Bytes out, std::span<const void* const> inputs, Stores stores) const {
        if (out.empty()) return;
        reduce_many(out.data(), inputs, out.size() / element(), dtype, op, stores);
    }

    // When all ranks' parts are in it, once.
    void finish(Bytes data, int ranks) const {
        if (!data.empty()) end_reduction(data.data(), data.size() / element(), dtype, op, ranks);
    }
};

inline Reduction reduction_of(const FlatCall& call) {
    return {call.dtype, call.op};
}

}  // namespace tutti::algorithm
