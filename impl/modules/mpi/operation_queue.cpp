#include "operation_queue.hpp"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

namespace tutti::mpi {

namespace {

Failure no_memory() {
    return {TUTTI_ERR_OUT_OF_MEMORY, "no memory for what MPI works on"};
}

}  // namespace

void OperationQueue::add(const tutti_backend_call* call) {
    auto entry = std::make_shared<Entry>(Entry{call});
    const bool is_list = call->kind == TUTTI_CALL_COALESCED;
    entry->open_operations = is_list ? static_cast<int>(call->call_count) : 1;
    for (int i = 0; i < entry->open_operations; ++i) {
        Operation& one = operations_.emplace_back();
        one.entry = entry;
        one.call = is_list ? call->calls[i] : call;
        one.is_direct = ranks_.settings.is_direct;
    }
    if (entry->open_operations == 0) endings_.add(call);
    begin_ready();
}

// An operation that has a second step holds up those behind it: all ranks begin all steps in one
// order.
void OperationQueue::begin_ready() {
    while (begun_ < operations_.size() && (begun_ == 0 || !operations_[begun_ - 1].blocks)) {
        Operation& next = operations_[begun_++];
        if (next.entry->has_ended) continue;
        try {
            begin(ranks_, next);
        } catch (const Failure& failure) {
            fail(*next.entry, failure);
        } catch (const std::bad_alloc&) {
            fail(*next.entry, no_memory());
        }
    }
}

void OperationQueue::fail(Entry& entry, const Failure& failure) {
    if (entry.has_ended) return;
    entry.has_ended = true;
    endings_.add(entry.call, failure);
}

bool OperationQueue::advance(Operation& first) {
    try {
        while (first.flight.test()) {
            first.flight.requests.clear();
            if (!first.then) return true;
            const auto next = std::move(first.then);
            first.then = nullptr;
            next();
        }
        return false;
    } catch (const Failure& failure) {
        fail(*first.entry, failure);
    } catch (const std::bad_alloc&) {
        fail(*first.entry, no_memory());
    }
    return true;
}

void OperationQueue::progress() {
    while (!operations_.empty()) {
        begin_ready();
        Operation& first = operations_.front();
        if (!first.entry->has_ended && !advance(first)) break;
        if (first.entry->has_ended) {
            endings_.abandon(std::move(first.flight));
        } else {
            first.flight.free_types();
            if (--first.entry->open_operations == 0) endings_.add(first.entry->call);
        }
        operations_.pop_front();
        --begun_;
    }
}

void OperationQueue::fail_without_departed() {
    for (Operation& one : operations_) {
        const Failure failure = departures_.failure_of_collective(one.entry->call->sequence);
        if (failure.status != TUTTI_OK) fail(*one.entry, failure);
    }
}

void OperationQueue::end_all(const Failure& why, const InUse& is_in_use) {
    std::vector<const Entry*> kept;
    for (Operation& one : operations_) {
        if (one.is_direct && is_in_use(one.flight)) kept.push_back(one.entry.get());
    }
    std::erase_if(operations_, [&](Operation& one) {
        if (std::ranges::find(kept, one.entry.get()) != kept.end()) return false;
        fail(*one.entry, why);
        endings_.abandon(std::move(one.flight));
        return true;
    });
    begun_ = operations_.size();
}

void OperationQueue::abandon_all() {
    for (Operation& one : operations_) endings_.abandon(std::move(one.flight));
}

}  // namespace tutti::mpi
