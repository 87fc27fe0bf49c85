// The arithmetic of a reduction on memory; algorithms decide which rank does it when. Any thread.
#pragma once

#include "call/flat.hpp"
#include "parts.hpp"
#include "reduce/reduce.hpp"

namespace tutti::algorithm {

struct Reduction {
    tutti_dtype dtype = TUTTI_UINT8;
    ReduceOp op = TUTTI_SUM;
    // For ops that accumulate in float32: combine_all() leaves its result as float32, not rounded
    // to the dtype.
    bool is_partial = false;

    [[nodiscard]] size_t element() const { return element_size(dtype); }
    // The size of combine_all()'s result, from so many bytes of each contribution.
    [[nodiscard]] size_t combined_size(size_t bytes) const {
        return is_partial ? bytes / element() * sizeof(float) : bytes;
    }

    // Whether a rank's contribution differs from its input: algorithms get the result of begin().
    [[nodiscard]] bool changes_input() const {
        return op.factor() != nullptr || (dtype == TUTTI_BOOL && op.user_function() != nullptr);
    }
    // `out` may be `input`.
    void begin(Bytes out, ConstBytes input) const {
        begin_reduction(out.data(), input.data(), input.size() / element(), dtype, op);
    }

    // Whether only combine_all() of all ranks' contributions gives the right bits. Where it
    // accumulates in float32, it may also be done in parts: as partial() in some, those as sums of
    // float32, and round() at last.
    [[nodiscard]] bool must_combine_at_once(int ranks) const {
        return tutti::must_combine_at_once(dtype, op, static_cast<size_t>(ranks));
    }
    [[nodiscard]] bool accumulates_in_float32() const {
        return tutti::accumulates_in_float32(dtype, op);
    }
    [[nodiscard]] Reduction partial() const { return {dtype, op, true}; }
    void round(Bytes out, ConstBytes sums, int ranks) const {
        if (out.empty()) return;
        round_float32(out.data(), reinterpret_cast<const float*>(sums.data()),
                      out.size() / element(), dtype, op, ranks);
    }

    // `out` may be `one` or `other`. If the op commutes, op(one, other) is op(other, one) to the
    // last bit of all but users' functions; if not, `one` is of the lower ranks.
    void combine(Bytes out, ConstBytes one, ConstBytes other) const {
        if (out.empty()) return;
        if (op == TUTTI_AVG && accumulates_in_float32()) {  // of two ranks, and nothing is left
            const void* const both[] = {one.data(), other.data()};
            return combine_all(out, both, Stores::Ordinary);
        }
        reduce_to(out.data(), one.data(), other.data(), out.size() / element(), dtype, op);
    }
    void combine(Bytes into, ConstBytes from) const { combine(into, into, from); }
    // All of them in order; `out` may be one of them, unless this is partial.
    void combine_all(Bytes out, std::span<const void* const> inputs, Stores stores) const {
        if (out.empty()) return;
        if (is_partial) {
            return sum_to_float32(reinterpret_cast<float*>(out.data()), inputs,
                                  out.size() / sizeof(float), dtype);
        }
        reduce_many(out.data(), inputs, out.size() / element(), dtype, op, stores);
    }

    // Once, when all ranks' contributions are in it.
    void finish(Bytes data, int ranks) const {
        if (!data.empty()) end_reduction(data.data(), data.size() / element(), dtype, op, ranks);
    }
    // Both, of one input of each rank: piece by piece, so that a piece is finished in the cache.
    void combine_and_finish(Bytes out, std::span<const void* const> inputs, Stores stores) const;
};

inline Reduction reduction_of(const FlatCall& call) {
    return {call.dtype, call.op};
}

}  // namespace tutti::algorithm
