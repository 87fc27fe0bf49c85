// A collective of the host as operations of MPI, and the memory that MPI works on: the program's if
// the pieces of a call follow each other, and no input is also an output; else copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ranks.hpp"

namespace tutti::mpi {

// A call of the host. A coalesced one has several operations, others one.
struct Entry {
    const tutti_backend_call* call;
    int open_operations = 0;
    bool has_ended = false;  // it failed; operations may be under way
};

struct Operation {
    std::shared_ptr<Entry> entry;
    const tutti_backend_call* call;
    bool is_direct = false;  // MPI works on the program's memory
    InFlight flight{};
    bool blocks = false;  // a step follows, so operations behind it must not begin yet
    std::function<void()> then{};
};

// The pieces of a call, and their bytes.
using Given = std::span<const tutti_piece>;
Given inputs_of(const tutti_backend_call& call);
Given outputs_of(const tutti_backend_call& call);
std::vector<int64_t> bytes_of(Given pieces, const tutti_backend_call& call);
size_t total_of(Given pieces, const tutti_backend_call& call);

// The inputs of an operation, one piece after the other.
const char* inputs(Operation& operation);
// Memory for its outputs, likewise. Of a copy, the operation gets a step that copies it back.
char* outputs(Operation& operation);

// Begins it on this rank: operations.cpp, and reductions.cpp for those that compute. Throws
// Failure. `ranks` outlives the operation.
void begin(const Ranks& ranks, Operation& operation);
void reduce(const Ranks& ranks, Operation& operation);

}  // namespace tutti::mpi
