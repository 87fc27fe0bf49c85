// What a reduction does to memory, for algorithms that decide only who does it when. Any thread.
#pragma once

#include "parts.hpp"
#include "reduce/reduce.hpp"

namespace tutti::algorithm {

struct Reduction {
    tutti_dtype dtype = TUTTI_UINT8;
    tutti_reduce_op op = TUTTI_SUM;

    [[nodiscard]] size_t element() const { return element_size(dtype); }

    // `out` may be `one` or `other`; op(one, other) is op(other, one) to the last bit.
    void combine(Bytes out, ConstBytes one, ConstBytes other) const {
        if (out.empty()) return;
        reduce_to(out.data(), one.data(), other.data(), out.size() / element(), dtype, op);
    }
    void combine(Bytes into, ConstBytes from) const { combine(into, into, from); }

    // When all ranks' parts are in it, once.
    void finish(Bytes data, int ranks) const {
        if (op == TUTTI_AVG && !data.empty()) {
            divide_by(data.data(), data.size() / element(), dtype, ranks);
        }
    }
};

}  // namespace tutti::algorithm
