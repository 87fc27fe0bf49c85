// A collective as backends see it, in one form for all calls: the data to move, and the fingerprint
// to compare. lower() makes it of a Collective, once. Plain data; its pieces are in the memory of
// the caller.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.hpp"
#include "base/status.hpp"
#include "fingerprint.hpp"
#include "pieces.hpp"
#include "reduce/reduce_op.hpp"
#include "view.hpp"

namespace tutti {

struct Alloc;
struct ByteStrings;
namespace device {
class Event;
}

struct FlatCall {
    // The operation. Calls on a list and on one tensor differ only in their fingerprints.
    enum class Kind : uint8_t {
        Broadcast,         // an input on the root, an output elsewhere
        AllReduce,         // an input and an output
        Barrier,           // nothing
        Reduce,            // an input; an output on the root
        AllGather,         // an input; an output for each rank
        Gather,            // an input; on the root an output for each rank, all of one size
        Scatter,           // an output; on the root an input for each rank, all of one size
        ReduceScatter,     // an input for each rank; an output
        AllToAll,          // an input and an output for each rank
        ByteStrings,       // as `byte_strings` says
        AllReduceAddends,  // any number of inputs, which may differ between ranks; an output
        Alloc,             // as `alloc` says
        Coalesced          // `calls`, none of which is one
    };
    // The ranks' knowledge of the sizes of the pieces, where there is one for each rank.
    enum class Sizes : uint8_t {
        Even,     // parts of one size that follow each other in one tensor, on all ranks
        Known,    // every rank knows all of them
        Pairwise  // only the two ranks of a piece know its size, and may disagree
    };

    // Where a device does it: on a stream beside that of the caller, on that itself, or in the
    // graph that is made of it.
    enum class Place : uint8_t { Beside, Joined, Captured };

    Kind kind = Kind::Barrier;
    Sizes sizes = Sizes::Even;
    bool in_place = false;  // all_to_all: the outputs take the place of the inputs
    tutti_dtype dtype = TUTTI_UINT8;
    Device device{};            // of all pieces
    int root = -1;              // of kinds that have one
    ReduceOp op = TUTTI_SUM;    // of reductions
    Fingerprint fingerprint{};  // ranks compare it

    Pieces<const std::byte> inputs{};
    Pieces<std::byte> outputs{};
    std::shared_ptr<const ByteStrings> byte_strings{};
    std::shared_ptr<const Alloc> alloc{};
    std::vector<FlatCall> calls{};

    // For a call on a device: the caller's stream, null for none, and what it had before the call.
    void* stream = nullptr;
    Place place = Place::Beside;
    std::shared_ptr<const device::Event> begun{};  // null in a graph
    std::shared_ptr<const Status> fault{};         // the device has failed before the call's turn

    [[nodiscard]] ConstBytes input() const { return inputs.first(); }
    [[nodiscard]] Bytes output() const { return outputs.first(); }
    // The buffer of a broadcast, which the root only reads.
    [[nodiscard]] Bytes buffer() const {
        const ConstBytes given = input();
        return inputs.empty() ? output()
                              : Bytes{const_cast<std::byte*>(given.data()), given.size()};
    }
};

// "all_reduce".
inline const char* call_name(const FlatCall& call) {
    return name_of(call.fingerprint.kind);
}

}  // namespace tutti
