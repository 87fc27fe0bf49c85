// The shared memory of the ranks of a communicator: memory that its id names. Each rank has a lane,
// where it publishes its data piece by piece, and a pipe to each other rank.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <sys/types.h>

namespace fake_nccl {

constexpr const char* name_start = "/tutti_fake_nccl_";
constexpr int max_ranks = 8;
constexpr size_t piece_bytes = 64 << 10;
constexpr size_t pipe_bytes = 16 << 10;

// The arguments that ranks must call alike: else nothing ever goes on, as in reality.
struct Shape {
    int kind;
    int type;
    int op;
    int root;
    size_t count;
    // Where memory is that other ranks reach in its window, from 1 on; 0: they reach none.
    size_t in_place = 0, out_place = 0;
    bool operator==(const Shape&) const = default;
    [[nodiscard]] Shape without_places() const { return {kind, type, op, root, count, 0, 0}; }
};

struct Lane {
    std::atomic<uint64_t> posted;            // pieces
    std::atomic<uint64_t> taken[max_ranks];  // of these, by each rank
    Shape shape;
    double factor;          // of floating point
    uint64_t whole_factor;  // of integers
    alignas(64) char data[piece_bytes];
};

struct Pipe {
    std::atomic<uint64_t> posted, taken;
    size_t bytes;  // of the whole message
    alignas(64) char data[pipe_bytes];
};

// A rank's part in the splits of a communicator, one after the other.
struct Part {
    std::atomic<uint64_t> said, heard;  // splits: its own part, and the others'
    int color, key;                     // of the last
};

// A rank's part in the registrations of windows, one after the other.
struct Entry {
    std::atomic<uint64_t> said, heard;  // as of a Part
    size_t bytes, place;
    uint64_t collectives;  // that this rank has issued before
    int flags;
};

struct Segment {
    std::atomic<int> attached, connected, finalized;
    Part parts[max_ranks];
    Entry entries[max_ranks];
    std::atomic<int> pid[max_ranks];
    std::atomic<int> device[max_ranks];
    Lane lanes[max_ranks];
    Pipe pipes[max_ranks][max_ranks];  // from, to
};

// Mapped; the name goes when all ranks have it. Null if the system refuses.
std::shared_ptr<Segment> attach(const std::string& name);
void forget(const std::string& name);
// The names of runs that were killed meanwhile: nobody has their memory any more.
void forget_abandoned();

}  // namespace fake_nccl
