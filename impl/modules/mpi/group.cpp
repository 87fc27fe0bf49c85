#include "group.hpp"

#include <algorithm>
#include <new>

namespace tutti::mpi {

Group::Group(const tutti_backend_place& place, const Settings& settings, MPI_Comm collectives,
             MPI_Comm messages)
    : host_(*place.host),
      settings_(settings),
      rank_(place.rank),
      size_(place.size),
      collectives_(collectives),
      messages_(messages),
      last_of_(static_cast<size_t>(size_), -1),
      has_left_(static_cast<size_t>(size_)) {}

// On any thread, when the program may be calling MPI: so MPI is not called here.
Group::~Group() {
    Library& library = Library::get();
    const std::lock_guard lock(library.mutex);
    for (Operation& one : operations_) abandon(std::move(one.flight));
    for (Message& one : moving_) abandon(std::move(one.flight));
    // A failed group cannot tell when they are free.
    if (!has_said_goodbye_) return;
    library.close({collectives_, messages_, size_ - 1 - goodbyes_, std::move(arrived_), uses_});
}

void Group::need_alive() const {
    Library::get().need();
    if (!is_aborted_) return;
    const std::lock_guard lock(why_mutex_);
    throw aborted_;
}

void Group::post(const tutti_backend_call* call) {
    const bool is_message = call->kind == TUTTI_CALL_SEND || call->kind == TUTTI_CALL_RECEIVE;
    if (settings_.is_blocking && !is_message) return run(call);
    Library& library = Library::get();
    const std::lock_guard lock(library.mutex);
    need_alive();
    library.sweep();
    if (call->kind == TUTTI_CALL_SEND) return send(call);
    if (call->kind == TUTTI_CALL_RECEIVE) return receive(call);
    auto entry = std::make_shared<Entry>(Entry{call});
    last_sequence_ = call->sequence;
    const bool is_list = call->kind == TUTTI_CALL_COALESCED;
    entry->open_operations = is_list ? static_cast<int>(call->call_count) : 1;
    for (int i = 0; i < entry->open_operations; ++i) {
        Operation& one = operations_.emplace_back();
        one.entry = entry;
        one.call = is_list ? call->calls[i] : call;
        one.is_direct = settings_.is_direct;
    }
    if (entry->open_operations == 0) end(call);
    begin_ready();
}

// A collective from its beginning to its end, here. Without the lock: messages move meanwhile. MPI
// is done with the program's memory then.
void Group::run(const tutti_backend_call* call) {
    {
        const std::lock_guard lock(Library::get().mutex);
        need_alive();
        Library::get().sweep();
        last_sequence_ = call->sequence;
        if (leavers_ > goodbyes_) progress_messages();
        if (Failure failure = left_before(call->sequence); failure.status != TUTTI_OK) {
            throw failure;
        }
    }
    if (call->kind != TUTTI_CALL_COALESCED) return run_operation(call);
    for (int64_t i = 0; i < call->call_count; ++i) run_operation(call->calls[i]);
}

void Group::run_operation(const tutti_backend_call* call) {
    Operation one{nullptr, call, true};
    try {
        begin(one);
        for (one.flight.wait(); one.then; one.flight.wait()) {
            const auto next = std::move(one.then);
            one.then = nullptr;
            next();
        }
        one.flight.free_types();
    } catch (...) {
        const std::lock_guard lock(Library::get().mutex);
        abandon(std::move(one.flight));
        throw;
    }
}

// An operation that has a second step holds up those behind it: all ranks begin all steps in one
// order.
void Group::begin_ready() {
    while (begun_ < operations_.size() && (begun_ == 0 || !operations_[begun_ - 1].blocks)) {
        Operation& next = operations_[begun_++];
        if (next.entry->has_ended) continue;
        try {
            begin(next);
        } catch (const Failure& failure) {
            fail(*next.entry, failure);
        } catch (const std::bad_alloc&) {
            fail(*next.entry, {TUTTI_ERR_OUT_OF_MEMORY, "no memory for what MPI works on"});
        }
    }
}

void Group::fail(Entry& entry, const Failure& failure) {
    if (entry.has_ended) return;
    entry.has_ended = true;
    end(entry.call, failure);
}

void Group::abandon(InFlight&& flight) {
    flight.owner = uses_;
    Library::get().abandon(std::move(flight));
}

void Group::end(const tutti_backend_call* call, Failure failure, int source) {
    ended_.push_back({call, std::move(failure), source});
}

// Whether the first operation is over.
bool Group::advance(Operation& first) {
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
        fail(*first.entry, {TUTTI_ERR_OUT_OF_MEMORY, "no memory for what MPI works on"});
    }
    return true;
}

void Group::progress_operations() {
    while (!operations_.empty()) {
        begin_ready();
        Operation& first = operations_.front();
        if (!first.entry->has_ended && !advance(first)) break;
        if (first.entry->has_ended) {
            abandon(std::move(first.flight));
        } else {
            first.flight.free_types();
            if (--first.entry->open_operations == 0) end(first.entry->call);
        }
        operations_.pop_front();
        --begun_;
    }
}

// A rank that has left takes no part in what it has not called.
Failure Group::left_before(uint64_t sequence) const {
    for (int rank = 0; rank < size_; ++rank) {
        const int64_t last = last_of_[static_cast<size_t>(rank)];
        if (last < 0 || sequence <= static_cast<uint64_t>(last)) continue;
        return {TUTTI_ERR_PEER_LOST, "rank " + std::to_string(rank) + " has left the group", rank};
    }
    return {};
}

void Group::end_without_those_that_left() {
    for (Operation& one : operations_) {
        const Failure failure = left_before(one.entry->call->sequence);
        if (failure.status != TUTTI_OK) fail(*one.entry, failure);
    }
}

// After an abort. What MPI does in memory of its own ends at once; what it does in the program's
// memory ends when MPI says so.
void Group::end_all(bool may_call) {
    Failure why;
    {
        const std::lock_guard lock(why_mutex_);
        why = aborted_;
    }
    const auto is_in_use = [may_call](InFlight& flight) {
        if (flight.requests.empty()) return false;
        try {
            return !may_call || !flight.test();
        } catch (const Failure&) {
            return false;
        }
    };
    std::vector<const Entry*> kept;
    for (Operation& one : operations_) {
        if (one.is_direct && is_in_use(one.flight)) kept.push_back(one.entry.get());
    }
    std::erase_if(operations_, [&](Operation& one) {
        if (std::ranges::find(kept, one.entry.get()) != kept.end()) return false;
        fail(*one.entry, why);
        abandon(std::move(one.flight));
        return true;
    });
    begun_ = operations_.size();
    for (Message& one : waiting_) end(one.call, why);
    waiting_.clear();
    std::erase_if(moving_, [&](Message& one) {
        if (one.is_direct && is_in_use(one.flight)) return false;
        end(one.call, why);
        abandon(std::move(one.flight));
        return true;
    });
}

void Group::progress() {
    if (!operations_.empty()) progress_operations();
    const bool has_calls = !operations_.empty() || !waiting_.empty() || !moving_.empty();
    if (!waiting_.empty() || !moving_.empty() || (has_calls && leavers_ > goodbyes_)) {
        progress_messages();
    }
}

bool Group::test() {
    Library& library = Library::get();
    std::vector<Ended> ended;
    {
        // Another thread may be making a group, which takes a while.
        const std::unique_lock lock(library.mutex, std::try_to_lock);
        if (!lock.owns_lock()) return false;
        const bool may_call = library.may_call();
        try {
            if (!is_aborted_ && may_call) progress();
        } catch (const Failure& failure) {
            abort(failure.status, failure.why.c_str());
        } catch (const std::bad_alloc&) {
            abort(TUTTI_ERR_OUT_OF_MEMORY, "no memory for what MPI works on");
        }
        if (is_aborted_) end_all(may_call);
        ended.swap(ended_);
    }
    for (const Ended& one : ended) {
        if (one.failure.status == TUTTI_OK) {
            host_.finish(one.call, TUTTI_OK, one.source, nullptr);
            continue;
        }
        tutti_error error = TUTTI_ERROR_INIT;
        host_.finish(one.call, tell(one.failure, &error), one.source, &error);
    }
    return !ended.empty();
}

void Group::abort(tutti_status status, const char* why) noexcept {
    const std::lock_guard lock(why_mutex_);
    if (is_aborted_) return;
    aborted_ = {status, why};
    if (status == TUTTI_ERR_PEER_LOST) Library::get().has_lost_a_process = true;
    is_aborted_ = true;
}

void Group::left(int rank) noexcept {
    if (!has_left_[static_cast<size_t>(rank)].exchange(true)) ++leavers_;
}

}  // namespace tutti::mpi
