#include "coalescing.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "transport/channel.hpp"

namespace tutti {

namespace {

// No other call writes the inputs, or touches the outputs, at the same time.
bool is_free(const OverlapCheck& claims, const FlatCall& call) {
    return std::ranges::all_of(call.outputs, [&](Bytes one) { return claims.may_write(one); }) &&
           std::ranges::all_of(call.inputs, [&](ConstBytes one) { return claims.may_read(one); });
}

bool has_buffers(const FlatCall& call) {
    return call.kind != FlatCall::Kind::Barrier;
}

bool can_be_coalesced(const FlatCall& call) {
    using Kind = FlatCall::Kind;
    return call.kind != Kind::ByteStrings && call.kind != Kind::Alloc &&
           call.kind != Kind::Coalesced;
}

}  // namespace

Coalescing::Coalescing(std::shared_ptr<Group> group, const Device& device)
    : group_(std::move(group)), device_(device) {
    group_->collectives().check_coalescing();
    group_->identity().check_bound(device_, "options.device_type and device_index name");
}

void Coalescing::check_not_ended() const {
    if (has_ended_) throw Error(TUTTI_ERR_INVALID_HANDLE, "the coalescing has ended");
}

void Coalescing::take(FlatCall call) {
    if (!can_be_coalesced(call)) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat(call_name(call), " cannot be coalesced"));
    }
    const Lock lock(mutex_);
    check_not_ended();
    if (calls_.calls.size() == Slot::max_steps) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat(calls_.calls.size(), " calls are in this coalescing, as many as can be"));
    }
    if (has_buffers(call) && call.device != device_) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat(call_name(call), " is on ", describe(call.device),
                        ", and this coalescing was begun for ", describe(device_)));
    }
    if (!is_free(claims_, call)) {
        throw Error(
            TUTTI_ERR_INVALID_ARGUMENT,
            cat(call_name(call), " overlaps the memory of an earlier call of this coalescing"));
    }
    const FlatCall& taken = calls_.calls.emplace_back(std::move(call));
    MemoryUse use;
    for (const Bytes output : taken.outputs) {
        claims_.write(output);
        use.add(output.data());
    }
    for (const ConstBytes input : taken.inputs) {
        claims_.read(input);
        use.add(input.data());
    }
    if (!use.empty()) uses_.push_back(std::move(use));
}

Coalesced Coalescing::end() {
    const Lock lock(mutex_);
    check_not_ended();
    has_ended_ = true;
    claims_ = {};
    return std::exchange(calls_, {});
}

std::vector<MemoryUse> Coalescing::take_uses() {
    const Lock lock(mutex_);
    return std::exchange(uses_, {});
}

}  // namespace tutti
