// A batch of calls on its way to a stream: what NCCL needs beside it, and its end. One at a time;
// one thread at a time, with the lock of the communicator.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "call_queue.hpp"
#include "collectives.hpp"
#include "library.hpp"
#include "tutti/ext.h"

namespace tutti::nccl {

class Issuing {
public:
    Issuing(const Library& nccl, const tutti_backend_host& host, int rank, int size)
        : nccl_(nccl), host_(host), rank_(rank), size_(size) {}

    // Whether NCCL has no batch that is on its way.
    [[nodiscard]] bool is_idle() const { return under_way_.empty(); }
    // Gives NCCL the batch. Throws Failure; then the batch is there to be taken.
    void begin(Batch batch, Comm comm, int device);
    // NCCL has put all of it on the stream.
    void end_ops(Comm comm);
    [[nodiscard]] Stream stream() const { return stream_; }
    void notify_host();
    // The batch that never came to its stream.
    [[nodiscard]] Batch take() { return std::exchange(under_way_, {}); }
    // Frees memory of the device, in the background: that waits for all that the device does.
    void free_memory(int device) noexcept;

private:
    // Memory of the device, for what outputs take the place of.
    struct Scratch {
        cuda::DevicePointer memory;
        size_t bytes;
    };

    [[nodiscard]] Stream stream_of(const tutti_backend_call* call) const;
    void prepare(const tutti_backend_call* call, Comm comm, size_t& used, std::vector<Part>& parts);
    void copy_inputs(Part& part, size_t& used);
    cuda::DevicePointer scratch(size_t offset, size_t bytes);

    const Library& nccl_;
    const tutti_backend_host& host_;
    const int rank_, size_;
    Batch under_way_;
    std::vector<RedOp> ops_;  // made for it
    Stream stream_ = nullptr;
    std::vector<Scratch> scratch_;  // the last is the largest
};

// Converts a failure for the host.
tutti_error error_of(const Failure& failure);

}  // namespace tutti::nccl
