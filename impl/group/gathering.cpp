#include "gathering.hpp"

#include <utility>

#include "backend/call/memory.hpp"
#include "backend/channel.hpp"
#include "base/error.hpp"

namespace tutti {

namespace {

void refuse_options(const Collective& call, int64_t timeout_ms) {
    if (timeout_ms != 0) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    "options.timeout_ms must be 0 while calls are gathered; the end of the "
                    "coalescing has one for all");
    }
    if (std::holds_alternative<MonitoredBarrier>(call) || std::holds_alternative<Parcels>(call) ||
        std::holds_alternative<Alloc>(call)) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat(call_name(call), " cannot be gathered"));
    }
}

}  // namespace

void Gathering::begin() {
    const Lock lock(mutex_);
    if (begun_) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    "the calls of this group are being gathered already; end that first");
    }
    begun_ = true;
}

bool Gathering::take(const Collective& call, int64_t timeout_ms, int rank) {
    // Another thread's end came before this begin.
    if (!begun_ || std::holds_alternative<Coalesced>(call)) return false;
    const Lock lock(mutex_);
    if (!begun_) return false;
    refuse_options(call, timeout_ms);
    if (calls_.calls.size() == Slot::most_steps) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat(calls_.calls.size(), " calls are gathered already, as many as can be"));
    }
    const Memory memory = memory_of(call, rank);
    bool free = true;
    for (const ConstView& view : memory.written) free = free && claims_.may_write(view);
    for (const ConstView& view : memory.read) free = free && claims_.may_read(view);
    if (!free) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat(call_name(call), " overlaps the memory of a call gathered before it"));
    }
    calls_.calls.push_back(call);
    for (const ConstView& view : memory.written) claims_.write(view);
    for (const ConstView& view : memory.read) claims_.read(view);
    return true;
}

Coalesced Gathering::end() {
    const Lock lock(mutex_);
    if (!begun_) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    "the calls of this group are not being gathered; begin that first");
    }
    begun_ = false;
    claims_ = {};
    return std::exchange(calls_, {});
}

}  // namespace tutti
