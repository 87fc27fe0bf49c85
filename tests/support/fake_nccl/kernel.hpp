// The work of a group of calls on a stream of the device: steps that the double of the driver asks
// for until they are done. Each step goes as far as the other ranks let it.
#pragma once

#include <vector>

#include "arithmetic.hpp"
#include "segment.hpp"
#include "support/fake_cuda/fake_cuda.h"

namespace fake_nccl {

struct Communicator;

enum Kind { AllReduce = 1, Broadcast, Reduce, AllGather, ReduceScatter, AllToAll };

struct Collective {
    Shape shape{};
    bool has_factor = false;
    double factor = 1;
    uint64_t whole_factor = 1;
    unsigned long long in = 0, out = 0;  // of the device
    size_t done = 0;                     // bytes of the inputs
    bool posted = false;                 // this rank's next piece
};

struct Message {
    bool sends = false;
    int peer = 0;
    unsigned long long memory = 0;
    size_t bytes = 0, done = 0;
};

struct Call {
    Communicator* comm = nullptr;
    void* stream = nullptr;
    bool is_message = false;
    Collective collective{};
    Message message{};
};

// 0, or an error of the driver.
int launch(Communicator& comm, std::vector<Call> calls);

// The last kernel was on a stream of that priority.
int& last_priority();

}  // namespace fake_nccl
