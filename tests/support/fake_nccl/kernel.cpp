#include "kernel.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "communicator.hpp"
#include "windows.hpp"

namespace fake_nccl {

namespace {

struct Kernel {
    std::shared_ptr<Shared> shared;
    uint64_t number;
    std::vector<Call> calls;
};

char* memory_at(unsigned long long address) {
    return static_cast<char*>(driver().memory(address));
}

// The bytes of the inputs of one rank.
size_t input_bytes(const Shape& shape, int ranks) {
    const bool has_parts = shape.kind == ReduceScatter || shape.kind == AllToAll;
    return shape.count * width_of(shape.type) * static_cast<size_t>(has_parts ? ranks : 1);
}

bool gives(const Shape& shape, int rank) {
    return shape.kind != Broadcast || rank == shape.root;
}

void post_piece(Shared& of, Collective& call, size_t bytes) {
    Lane& lane = of.segment->lanes[of.rank];
    lane.shape = call.shape;
    lane.factor = call.factor;
    lane.whole_factor = call.whole_factor;
    if (gives(call.shape, of.rank)) {
        std::memcpy(lane.data, memory_at(call.in) + call.done, bytes);
    }
    lane.posted.store(of.pieces + 1, std::memory_order_release);
    call.posted = true;
}

// The part of a piece that belongs to this rank, of inputs with a part for each.
void take_own(const Shared& of, const Collective& call, size_t bytes) {
    const size_t part = call.shape.count * width_of(call.shape.type);
    const size_t begin = std::max(call.done, part * static_cast<size_t>(of.rank));
    const size_t end = std::min(call.done + bytes, part * static_cast<size_t>(of.rank + 1));
    if (begin >= end) return;
    const size_t offset = begin - call.done, to = begin - part * static_cast<size_t>(of.rank);
    char* const out = memory_at(call.out);
    if (call.shape.kind == ReduceScatter) {
        return reduce(call.shape, of.segment->lanes, of.ranks, call.has_factor, offset, out + to,
                      (end - begin) / width_of(call.shape.type));
    }
    for (int rank = 0; rank < of.ranks; ++rank) {
        std::memcpy(out + part * static_cast<size_t>(rank) + to,
                    of.segment->lanes[rank].data + offset, end - begin);
    }
}

void take_piece(const Shared& of, const Collective& call, size_t bytes) {
    const Shape& shape = call.shape;
    const Lane* const lanes = of.segment->lanes;
    switch (shape.kind) {
        case Broadcast:
            if (of.rank != shape.root || call.in != call.out) {
                std::memcpy(memory_at(call.out) + call.done, lanes[shape.root].data, bytes);
            }
            return;
        case AllGather:
            for (int rank = 0; rank < of.ranks; ++rank) {
                const size_t part = static_cast<size_t>(rank) * shape.count * width_of(shape.type);
                std::memcpy(memory_at(call.out) + part + call.done, lanes[rank].data, bytes);
            }
            return;
        case ReduceScatter:
        case AllToAll:
            return take_own(of, call, bytes);
        default:
            if (shape.kind == Reduce && of.rank != shape.root) return;
            reduce(shape, lanes, of.ranks, call.has_factor, 0, memory_at(call.out) + call.done,
                   bytes / width_of(shape.type));
    }
}

bool all_posted(const Shared& of, const Shape& shape) {
    for (int rank = 0; rank < of.ranks; ++rank) {
        const Lane& lane = of.segment->lanes[rank];
        if (lane.posted.load(std::memory_order_acquire) <= of.pieces) return false;
        if (lane.shape == shape) continue;
        if (lane.shape.without_places() == shape.without_places()) {
            report("ranks give different places in their windows to one call, or some give none");
        }
        return false;
    }
    return true;
}

bool all_taken(const Shared& of) {
    const Lane& mine = of.segment->lanes[of.rank];
    for (int rank = 0; rank < of.ranks; ++rank) {
        if (mine.taken[rank].load(std::memory_order_acquire) != of.pieces) return false;
    }
    return true;
}

bool go_on(Shared& of, Collective& call) {
    const size_t length = input_bytes(call.shape, of.ranks);
    while (call.done < length) {
        const size_t bytes = std::min(piece_bytes, length - call.done);
        if (!call.posted) {
            if (!all_taken(of)) return false;
            post_piece(of, call, bytes);
        }
        if (!all_posted(of, call.shape)) return false;
        take_piece(of, call, bytes);
        for (int rank = 0; rank < of.ranks; ++rank) {
            of.segment->lanes[rank].taken[of.rank].store(of.pieces + 1, std::memory_order_release);
        }
        ++of.pieces;
        call.done += bytes;
        call.posted = false;
    }
    return true;
}

bool go_on(const Shared& of, Message& message) {
    Pipe& pipe = message.sends ? of.segment->pipes[of.rank][message.peer]
                               : of.segment->pipes[message.peer][of.rank];
    while (message.done < message.bytes) {
        const uint64_t posted = pipe.posted.load(std::memory_order_acquire);
        const uint64_t taken = pipe.taken.load(std::memory_order_acquire);
        if (message.sends != (posted == taken)) return false;
        const size_t bytes = std::min(pipe_bytes, message.bytes - message.done);
        char* const memory = memory_at(message.memory) + message.done;
        if (message.sends) {
            std::memcpy(pipe.data, memory, bytes);
            pipe.bytes = message.bytes;
            pipe.posted.store(posted + 1, std::memory_order_release);
        } else {
            if (pipe.bytes != message.bytes) return false;  // ranks that differ hang
            std::memcpy(memory, pipe.data, bytes);
            pipe.taken.store(taken + 1, std::memory_order_release);
        }
        message.done += bytes;
    }
    return true;
}

// Messages go on side by side, those between the same two ranks one after the other, as do
// collectives.
bool go_on(Kernel& kernel) {
    Shared& of = *kernel.shared;
    if (of.is_aborted) return true;
    if (of.done != kernel.number) return false;  // behind another, on whatever stream
    bool all_done = true, in_turn = true;
    for (bool moved = true; moved;) {
        moved = false;
        all_done = in_turn = true;
        std::set<std::pair<int, bool>> in_use;
        for (Call& call : kernel.calls) {
            if (call.is_message) {
                const size_t before = call.message.done;
                const std::pair pipe{call.message.peer, call.message.sends};
                const bool is_done = !in_use.contains(pipe) && go_on(of, call.message);
                if (!is_done) in_use.insert(pipe);
                all_done &= is_done;
                moved |= call.message.done != before;
            } else {
                in_turn = in_turn && go_on(of, call.collective);
                all_done &= in_turn;
            }
        }
    }
    return all_done;
}

int step(void* user) {
    auto* const kernel = static_cast<Kernel*>(user);
    if (!go_on(*kernel)) return 0;
    ++kernel->shared->done;
    delete kernel;
    return 1;
}

void add(std::vector<fake_cuda_range>& ranges, unsigned long long memory, size_t bytes,
         bool writes) {
    if (bytes > 0) ranges.push_back({memory, bytes, writes ? 1 : 0});
}

void add_ranges(const Shared& of, const Call& call, std::vector<fake_cuda_range>& ranges) {
    if (call.is_message) {
        return add(ranges, call.message.memory, call.message.bytes, !call.message.sends);
    }
    const Collective& one = call.collective;
    const Shape& shape = one.shape;
    const size_t part = shape.count * width_of(shape.type);
    const size_t all = part * static_cast<size_t>(of.ranks);
    if (gives(shape, of.rank)) add(ranges, one.in, input_bytes(shape, of.ranks), false);
    const bool is_root = of.rank == shape.root;
    if (shape.kind == AllGather || shape.kind == AllToAll) return add(ranges, one.out, all, true);
    if (shape.kind == Broadcast && is_root && one.in == one.out) return;
    if (shape.kind != Reduce || is_root) add(ranges, one.out, part, true);
}

}  // namespace

int& last_priority() {
    static int priority = 0;
    return priority;
}

int launch(Communicator& comm, std::vector<Call> calls) {
    std::vector<fake_cuda_range> ranges;
    for (const Call& call : calls) add_ranges(*comm.shared, call, ranges);
    void* const stream = calls.front().stream;
    auto kernel = std::make_unique<Kernel>(
        Kernel{comm.shared, comm.shared->launched.load(), std::move(calls)});
    const int result =
        driver().launch(stream, "NCCL", ranges.data(), ranges.size(), step, kernel.get());
    driver().stream_priority(stream, &last_priority());
    int is_captured = 0;
    if (result == 0) driver().is_capturing(stream, &is_captured);
    if (result == 0 && is_captured == 0) {  // the double of the driver runs no graph
        ++comm.shared->launched;
        for (const fake_cuda_range& range : ranges) {
            note_use(comm, reinterpret_cast<char*>(range.address), range.bytes);
        }
        static_cast<void>(kernel.release());
    }
    return result;
}

}  // namespace fake_nccl
