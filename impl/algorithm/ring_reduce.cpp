#include "reduce_by_parts.hpp"

namespace tutti::algorithm {

void ring_reduce(Exchange& exchange, ConstBytes input, Bytes output, int root,
                 const Reduction& reduction) {
    reduce_by_parts(exchange, input, output, root, reduction, ring_reduce_scatter);
}

}  // namespace tutti::algorithm
