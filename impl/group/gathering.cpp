#include "gathering.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "transport/channel.hpp"

namespace tutti {

namespace {

// What is not written, or not read, by others at the same time.
bool is_free(const Claims& claims, const FlatCall& call) {
    return std::ranges::all_of(call.outputs, [&](Bytes one) { return claims.may_write(one); }) &&
           std::ranges::all_of(call.inputs, [&](ConstBytes one) { return claims.may_read(one); });
}

void refuse_options(const FlatCall& call, int64_t timeout_ms) {
    if (timeout_ms != 0) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    "options.timeout_ms must be 0 while calls are gathered; the end of the "
                    "coalescing has one for all");
    }
    using Kind = FlatCall::Kind;
    if (call.kind == Kind::MonitoredBarrier || call.kind == Kind::ByteStrings ||
        call.kind == Kind::Alloc) {
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

bool Gathering::take(FlatCall& call, int64_t timeout_ms) {
    // Another thread's end came before this begin.
    if (!begun_ || call.kind == FlatCall::Kind::Coalesced) return false;
    const Lock lock(mutex_);
    if (!begun_) return false;
    refuse_options(call, timeout_ms);
    if (calls_.calls.size() == Slot::most_steps) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat(calls_.calls.size(), " calls are gathered already, as many as can be"));
    }
    if (!is_free(claims_, call)) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat(call_name(call), " overlaps the memory of a call gathered before it"));
    }
    const FlatCall& taken = calls_.calls.emplace_back(std::move(call));
    for (const Bytes output : taken.outputs) claims_.write(output);
    for (const ConstBytes input : taken.inputs) claims_.read(input);
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
