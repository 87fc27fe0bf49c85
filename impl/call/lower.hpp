// The way from a call to its flat form. Any thread.
#pragma once

#include <utility>

#include "call.hpp"
#include "flat.hpp"

namespace tutti {

// A call that was checked, on that rank of a group of that size. Takes the call apart; throws
// nothing but std::bad_alloc.
FlatCall lower(Broadcast&& call, int rank, int size);
FlatCall lower(AllReduce&& call, int rank, int size);
FlatCall lower(AllReduceAddends&& call, int rank, int size);
FlatCall lower(Barrier&& call, int rank, int size);
FlatCall lower(Reduce&& call, int rank, int size);
FlatCall lower(AllGather&& call, int rank, int size);
FlatCall lower(AllGatherIntoTensor&& call, int rank, int size);
FlatCall lower(Gather&& call, int rank, int size);
FlatCall lower(Scatter&& call, int rank, int size);
FlatCall lower(ReduceScatter&& call, int rank, int size);
FlatCall lower(ReduceScatterTensor&& call, int rank, int size);
FlatCall lower(AllToAll&& call, int rank, int size);
FlatCall lower(AllToAllSingle&& call, int rank, int size);
FlatCall lower(ByteStrings&& call, int rank, int size);
FlatCall lower(Alloc&& call, int rank, int size);
FlatCall lower(Coalesced&& call, int rank, int size);

template <typename Call>
concept IsCollective = requires(Call call) {
    lower(std::move(call), 0, 1);
};

}  // namespace tutti
