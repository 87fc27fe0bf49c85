// Any collective, for tests that take one as a value. The engine has no such type: there each call
// is passed on as what it is.
#pragma once

#include <utility>
#include <variant>

#include "call/lower.hpp"

namespace tutti {

using Collective =
    std::variant<Broadcast, AllReduce, Barrier, Reduce, AllGather, AllGatherIntoTensor, Gather,
                 Scatter, ReduceScatter, ReduceScatterTensor, AllToAll, AllToAllSingle, ByteStrings,
                 AllReduceAddends, Alloc, Coalesced>;

inline void check(const Collective& call, int rank, int size) {
    std::visit([rank, size](const auto& one) { check(one, rank, size); }, call);
}
inline const char* call_name(const Collective& call) {
    return std::visit([](const auto& one) { return call_name(one); }, call);
}
inline Fingerprint fingerprint(const Collective& call) {
    return std::visit([](const auto& one) { return fingerprint(one); }, call);
}
inline FlatCall lower(Collective&& call, int rank, int size) {
    return std::visit([rank, size](auto& one) { return lower(std::move(one), rank, size); }, call);
}

}  // namespace tutti
