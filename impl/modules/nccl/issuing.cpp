#include "issuing.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "detached.hpp"
#include "mapping.hpp"

namespace tutti::nccl {

tutti_error error_of(const Failure& failure) {
    tutti_error error{};
    error.struct_size = sizeof error;
    error.status = failure.status;
    error.rank = -1;
    const size_t length = std::min(failure.message.size(), sizeof error.message - 1);
    std::memcpy(error.message, failure.message.data(), length);
    return error;
}

void Issuing::begin(Batch batch, Comm comm, int device) {
    under_way_ = std::move(batch);
    const cuda::InContext context(nccl_.driver(), device);
    std::vector<Part> parts;
    size_t used = 0;
    for (const tutti_backend_call* call : under_way_) {
        stream_ = stream_of(call);
        prepare(call, comm, used, parts);
    }
    nccl_.check(nccl_.group_start(), "ncclGroupStart");
    try {
        const Putting putting(nccl_, comm, stream_, rank_, size_);
        for (const Part& part : parts) putting.put(part);
    } catch (...) {
        nccl_.group_end();
        throw;
    }
    nccl_.check(nccl_.group_end(), "ncclGroupEnd", comm);
}

Stream Issuing::stream_of(const tutti_backend_call* call) const {
    tutti_error error = error_of({});
    void* stream = nullptr;
    const tutti_status status = host_.stream(call, &stream, &error);
    if (status != TUTTI_OK) throw Failure{status, 0, error.message};
    return static_cast<Stream>(stream);
}

// Runs before the group: ops are made, and what would be overwritten is copied.
void Issuing::prepare(const tutti_backend_call* call, Comm comm, size_t& used,
                      std::vector<Part>& parts) {
    if (call->kind == TUTTI_CALL_COALESCED) {
        for (int64_t index = 0; index < call->call_count; ++index) {
            prepare(call->calls[index], comm, used, parts);
        }
        return;
    }
    Part part{call, {}, op_of(call->op, call->dtype)};
    if (is_reduction(*call) && call->op == TUTTI_PREMUL_SUM) {
        alignas(16) std::array<std::byte, 16> factor{};
        write_one(call->dtype, factor.data());
        host_.reduce_begin(call, factor.data(), factor.data(), 1);
        nccl_.check(nccl_.redop_create(&part.op, factor.data(), elements_of(call->dtype).type,
                                       Residence::HostImmediate, comm),
                    "ncclRedOpCreatePreMulSum", comm);
        ops_.push_back(part.op);
    }
    if (has_overwritten(*call)) copy_inputs(part, used);
    parts.push_back(std::move(part));
}

// The copies follow each other, as inputs do in a tensor.
void Issuing::copy_inputs(Part& part, size_t& used) {
    const tutti_backend_call& call = *part.call;
    size_t bytes = 0;
    for (int64_t input = 0; input < call.input_count; ++input) {
        bytes += static_cast<size_t>(call.inputs[input].count) * call.element_size;
    }
    cuda::DevicePointer copy = scratch(used, bytes);
    used += bytes;
    for (int64_t input = 0; input < call.input_count; ++input) {
        const tutti_piece& piece = call.inputs[input];
        const size_t size = static_cast<size_t>(piece.count) * call.element_size;
        const auto from = reinterpret_cast<cuda::DevicePointer>(piece.data);
        if (size > 0) {
            nccl_.driver().check(nccl_.driver().copy_async(copy, from, size, stream_),
                                 "cuMemcpyAsync");
        }
        part.inputs.push_back(reinterpret_cast<const void*>(copy));
        copy += size;
    }
}

// Uses of it follow each other on the stream. What is too small stays where it is, in use.
cuda::DevicePointer Issuing::scratch(size_t offset, size_t bytes) {
    if (scratch_.empty() || offset + bytes > scratch_.back().bytes) {
        const size_t least = scratch_.empty() ? size_t{1} << 20 : 2 * scratch_.back().bytes;
        const size_t size = std::max(least, offset + bytes);
        cuda::DevicePointer memory = 0;
        nccl_.driver().check(nccl_.driver().alloc(&memory, size), "cuMemAlloc");
        scratch_.push_back({memory, size});
    }
    return scratch_.back().memory + offset;
}

void Issuing::end_ops(Comm comm) {
    for (const RedOp op : ops_) nccl_.redop_destroy(op, comm);
    ops_.clear();
}

void Issuing::notify_host() {
    for (const tutti_backend_call* call : take()) host_.enqueued(call);
}

void Issuing::free_memory(int device) noexcept {
    if (scratch_.empty()) return;
    start_detached([&nccl = nccl_, device, scratch = std::exchange(scratch_, {})] {
        try {
            const cuda::InContext context(nccl.driver(), device);
            for (const Scratch& one : scratch) nccl.driver().free(one.memory);
        } catch (const Failure&) {
        }
    });
}

}  // namespace tutti::nccl
