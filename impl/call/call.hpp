// Every collective that a group can make, as data. To add one: a file beside this one, and a line
// here; lower() does not compile until it knows the call.
#pragma once

#include <variant>

#include "all_gather.hpp"
#include "all_gather_into_tensor.hpp"
#include "all_reduce.hpp"
#include "all_reduce_addends.hpp"
#include "all_to_all.hpp"
#include "all_to_all_single.hpp"
#include "alloc.hpp"
#include "barrier.hpp"
#include "broadcast.hpp"
#include "byte_strings.hpp"
#include "coalesced.hpp"
#include "gather.hpp"
#include "message.hpp"
#include "monitored_barrier.hpp"
#include "reduce.hpp"
#include "reduce_scatter.hpp"
#include "reduce_scatter_tensor.hpp"
#include "scatter.hpp"

namespace tutti {

using Collective =
    std::variant<Broadcast, AllReduce, Barrier, Reduce, AllGather, AllGatherIntoTensor, Gather,
                 Scatter, ReduceScatter, ReduceScatterTensor, AllToAll, AllToAllSingle,
                 MonitoredBarrier, ByteStrings, AllReduceAddends, Alloc, Coalesced>;

inline void check(const Collective& call, int rank, int size) {
    std::visit([rank, size](const auto& one) { check(one, rank, size); }, call);
}
inline const char* call_name(const Collective& call) {
    return std::visit([](const auto& one) { return call_name(one); }, call);
}
inline Fingerprint fingerprint(const Collective& call) {
    return std::visit([](const auto& one) { return fingerprint(one); }, call);
}

}  // namespace tutti
