// A call as NCCL's calls, which stand in one group. The thread has the device's context.
#pragma once

#include <vector>

#include "library.hpp"
#include "tutti/ext.h"

namespace tutti::nccl {

// A call that is no COALESCED.
struct Part {
    const tutti_backend_call* call;
    std::vector<const void*> inputs;  // where they are, if all_to_all took their place
    RedOp op = RedOp::Sum;            // of a reduction
};

// Whether outputs of all_to_all take the place of inputs.
bool has_overwritten(const tutti_backend_call& call);
bool is_reduction(const tutti_backend_call& call);

// Inside a group. Throws Failure.
class Putting {
public:
    Putting(const Library& nccl, Comm comm, Stream stream, int rank, int size)
        : nccl_(nccl), comm_(comm), stream_(stream), rank_(rank), size_(size) {}
    void put(const Part& part) const;

private:
    void broadcast(const tutti_backend_call& call) const;
    void all_gather(const tutti_backend_call& call) const;
    void reduce_scatter(const Part& part) const;
    void gather(const tutti_backend_call& call) const;
    void scatter(const tutti_backend_call& call) const;
    void all_to_all(const Part& part) const;
    void send(const void* data, int64_t count, tutti_dtype dtype, int to) const;
    void receive(void* data, int64_t count, tutti_dtype dtype, int from) const;

    const Library& nccl_;
    const Comm comm_;
    const Stream stream_;
    const int rank_;
    const int size_;
};

}  // namespace tutti::nccl
