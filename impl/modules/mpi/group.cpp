#include "group.hpp"

#include <chrono>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace tutti::mpi {

Group::Group(const tutti_backend_place& place, const Settings& settings, MPI_Comm collectives,
             MPI_Comm messages)
    : ranks_{*place.host, settings, place.rank, place.size, collectives},
      departures_(place.size),
      collectives_(ranks_, endings_, departures_),
      messages_(settings, messages, endings_, departures_, collectives_) {}

// On any thread, when the program may be calling MPI: so MPI is not called here.
Group::~Group() {
    Library& library = Library::get();
    const std::lock_guard lock(library.mutex);
    collectives_.abandon_all();
    messages_.abandon_all();
    // A failed group does not learn when they are free.
    if (!messages_.has_said_goodbye()) return;
    library.close({ranks_.comm, messages_.comm(), departures_.goodbyes_to_come(),
                   messages_.take_arrived(), endings_.owner()});
}

void Group::need_alive() const {
    Library::get().need();
    if (!is_aborted_) return;
    const std::lock_guard lock(why_mutex_);
    throw aborted_;
}

void Group::post(const tutti_backend_call* call) {
    const bool is_message = call->kind == TUTTI_CALL_SEND || call->kind == TUTTI_CALL_RECEIVE;
    if (ranks_.settings.is_blocking && !is_message) return run(call);
    Library& library = Library::get();
    const std::lock_guard lock(library.mutex);
    need_alive();
    library.sweep();
    if (call->kind == TUTTI_CALL_SEND) return messages_.send(call);
    if (call->kind == TUTTI_CALL_RECEIVE) return messages_.receive(call);
    last_sequence_ = call->sequence;
    collectives_.add(call);
}

// A collective from its beginning to its end, here. Without the lock: messages move meanwhile. MPI
// is done with the program's memory then.
void Group::run(const tutti_backend_call* call) {
    {
        const std::lock_guard lock(Library::get().mutex);
        need_alive();
        Library::get().sweep();
        last_sequence_ = call->sequence;
        if (departures_.awaits_goodbye()) messages_.progress();
        const Failure failure = departures_.failure_of_collective(call->sequence);
        if (failure.status != TUTTI_OK) throw failure;
    }
    if (call->kind != TUTTI_CALL_COALESCED) return run_operation(call);
    for (int64_t i = 0; i < call->call_count; ++i) run_operation(call->calls[i]);
}

void Group::run_operation(const tutti_backend_call* call) {
    Operation one{nullptr, call, true};
    try {
        begin(ranks_, one);
        for (one.flight.wait(); one.then; one.flight.wait()) {
            const auto next = std::move(one.then);
            one.then = nullptr;
            next();
        }
        one.flight.free_types();
    } catch (...) {
        const std::lock_guard lock(Library::get().mutex);
        endings_.abandon(std::move(one.flight));
        throw;
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
    collectives_.end_all(why, is_in_use);
    messages_.end_all(why, is_in_use);
}

void Group::progress() {
    if (!collectives_.empty()) collectives_.progress();
    const bool has_calls = !collectives_.empty() || !messages_.empty();
    if (!messages_.empty() || (has_calls && departures_.awaits_goodbye())) messages_.progress();
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
        ended = endings_.take();
    }
    for (const Ended& one : ended) {
        if (one.failure.status == TUTTI_OK) {
            ranks_.host.finish(one.call, TUTTI_OK, one.source, nullptr);
            continue;
        }
        tutti_error error = TUTTI_ERROR_INIT;
        ranks_.host.finish(one.call, tell(one.failure, &error), one.source, &error);
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

int32_t Group::cancel(const tutti_backend_call* call) {
    const std::lock_guard lock(Library::get().mutex);
    return messages_.cancel(call);
}

// The others learn which collectives this rank was in, behind all that it has sent them.
void Group::leave() {
    Library& library = Library::get();
    std::unique_lock lock(library.mutex);
    if (is_aborted_ || !library.may_call()) return;
    InFlight flight;
    try {
        messages_.say_goodbye(flight, ranks_, last_sequence_);
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
        while (library.may_call() && !(flight.test() && messages_.have_gone()) &&
               std::chrono::steady_clock::now() < until) {
            lock.unlock();
            std::this_thread::yield();
            lock.lock();
        }
    } catch (const Failure&) {
        // Others learn from the membership that this rank has left.
    }
    endings_.abandon(std::move(flight));
}

}  // namespace tutti::mpi
