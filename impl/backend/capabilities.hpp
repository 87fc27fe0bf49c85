// The capabilities of a backend, known when a group is made; a call beyond them is refused before
// anything moves. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "call/flat.hpp"
#include "tutti/types.h"

namespace tutti {

// Where the collectives of a backend end.
enum class Completion {
    Inline,    // when run() returns, on the thread that called it
    Callback,  // on a thread of the backend's own
    Polled,    // in test(), on the thread that called it
    Stream     // enqueued on a device's stream first, then as Callback
};

// Some of the numbers from 0 to 63: of an enum, or of the constants in types.h.
class NumberSet {
public:
    template <typename... Numbers>
    static constexpr NumberSet of(Numbers... numbers) {
        return NumberSet((bit(static_cast<uint64_t>(numbers)) | ... | 0));
    }
    static constexpr NumberSet all() { return NumberSet(~uint64_t{0}); }

    [[nodiscard]] constexpr NumberSet without(NumberSet others) const {
        return NumberSet(bits_ & ~others.bits_);
    }
    [[nodiscard]] constexpr NumberSet with(NumberSet others) const {
        return NumberSet(bits_ | others.bits_);
    }
    template <typename Number>
    [[nodiscard]] constexpr bool has(Number number) const {
        const auto value = static_cast<uint64_t>(number);
        return value < 64 && (bits_ & bit(value)) != 0;
    }
    bool operator==(const NumberSet&) const = default;

    constexpr NumberSet() = default;
    constexpr explicit NumberSet(uint64_t bits) : bits_(bits) {}

private:
    static constexpr uint64_t bit(uint64_t number) { return uint64_t{1} << number; }
    uint64_t bits_ = 0;
};

// For each dtype, the reduce ops.
class OpSets {
public:
    static constexpr OpSets all() { return OpSets(NumberSet::all()); }
    template <typename... Ops>
    static constexpr OpSets of(Ops... ops) {
        return OpSets(NumberSet::of(ops...));
    }
    [[nodiscard]] constexpr OpSets without(NumberSet ops) const {
        OpSets fewer = *this;
        for (NumberSet& set : fewer.sets_) set = set.without(ops);
        return fewer;
    }
    constexpr void set(tutti_dtype dtype, NumberSet ops) { sets_.at(dtype) = ops; }
    [[nodiscard]] constexpr bool has(tutti_dtype dtype, tutti_reduce_op op) const {
        return dtype < sets_.size() && sets_[dtype].has(op);
    }
    bool operator==(const OpSets&) const = default;

private:
    constexpr explicit OpSets(NumberSet every) { sets_.fill(every); }
    std::array<NumberSet, TUTTI_BOOL + 1> sets_{};
};

// No backend serves a new kind of collective until it is listed here.
constexpr NumberSet every_kind = NumberSet::of(
    CallKind::Broadcast, CallKind::AllReduce, CallKind::Barrier, CallKind::Reduce,
    CallKind::AllGather, CallKind::AllGatherIntoTensor, CallKind::Gather, CallKind::Scatter,
    CallKind::ReduceScatter, CallKind::ReduceScatterTensor, CallKind::AllToAll,
    CallKind::AllToAllSingle, CallKind::Coalesced, CallKind::BroadcastObjects,
    CallKind::AllGatherObjects, CallKind::GatherObjects, CallKind::ScatterObjects,
    CallKind::BroadcastBytes, CallKind::AllGatherBytes, CallKind::GatherBytes,
    CallKind::ScatterBytes, CallKind::AllReduceAddends, CallKind::Alloc);

// Default: all that a backend for the CPU can do, inline.
struct Capabilities {
    Completion completion = Completion::Inline;
    NumberSet devices = NumberSet::of(TUTTI_CPU);  // tutti_device_type
    NumberSet kinds = every_kind;                  // CallKind
    NumberSet dtypes = NumberSet::all();           // of calls that have elements
    OpSets ops = OpSets::all();                    // also TUTTI_PREMUL_SUM
    bool user_functions = true;                    // functions of the program as ops
    bool reproducible = true;                      // sums that are exact and rounded once
    bool messages = true;                          // between two ranks
    bool tags = true;                              // of messages; and to itself, and from any
    bool high_priority = false;                    // of its stream on a device
    bool byte_messages = true;                     // those whose size the receiver does not know
    bool memory = false;                           // of its own, on devices; see Backend
    bool foreign_peers = false;                    // ranks may be of other libraries; see ext.h
    bool callback_messages = false;  // on a thread of the backend's own, though it is inline

    bool operator==(const Capabilities&) const = default;
};

// The part of a call that is beyond these: "all_reduce of bfloat16"; "" if none is.
std::string beyond(const Capabilities& can, const FlatCall& call);

// Lists the parts of a CPU backend's abilities that are missing, and the other devices that are
// there: "gather,bfloat16,messages,+device_1"; "nothing". Ranks compare the list; how their
// collectives end is each rank's own matter.
std::string lacks_of(const Capabilities& can);

}  // namespace tutti
