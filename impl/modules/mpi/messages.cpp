#include "messages.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace tutti::mpi {

namespace {

static_assert(TUTTI_BOOL < goodbye);

bool suits(const tutti_backend_call& receive, int source, int tag) {
    return receive.tag == tag && (receive.peer < 0 || receive.peer == source);
}

int64_t bytes_of(const tutti_piece& piece, const tutti_backend_call& call) {
    return piece.count * call.element_size;
}

int highest_tag(MPI_Comm comm) {
    int* highest = nullptr;
    int is_set = 0;
    must(MPI_Comm_get_attr(comm, MPI_TAG_UB, &highest, &is_set), "MPI_Comm_get_attr");
    return (is_set != 0 ? *highest : 32767) / tags_of_a_message - 1;
}

}  // namespace

void Messages::send(const tutti_backend_call* call) {
    if (call->tag > highest_tag(comm_)) {
        throw Failure{TUTTI_ERR_UNSUPPORTED, "tag is " + std::to_string(call->tag) +
                                                 "; this MPI has tags up to " +
                                                 std::to_string(highest_tag(comm_))};
    }
    if (departures_.has_gone(call->peer)) throw failure_of_departed(call->peer);
    const int64_t bytes = bytes_of(*call->inputs, *call);
    Message message{call, {}, settings_.is_direct && bytes > 0};
    const void* data = call->inputs->data;
    if (!message.is_direct && bytes > 0) {
        message.flight.memory.push_back(take(static_cast<size_t>(bytes)));
        data = std::memcpy(message.flight.memory[0].get(), data, static_cast<size_t>(bytes));
    }
    const Typed all = message.flight.typed(bytes, settings_.max_bytes);
    must(MPI_Isend(data, all.count, all.type, call->peer,
                   call->tag * tags_of_a_message + static_cast<int>(call->dtype), comm_,
                   message.flight.request()),
         "MPI_Isend");
    moving_.push_back(std::move(message));
}

void Messages::receive(const tutti_backend_call* call) {
    Message message{call};
    const auto found = std::ranges::find_if(
        arrived_, [&](const Arrived& one) { return suits(*call, one.source, one.tag); });
    if (found != arrived_.end()) {
        const Arrived arrived = *found;
        arrived_.erase(found);
        return match(message, arrived);
    }
    waiting_.push_back(std::move(message));
}

// A message that has come is received in any case: where it belongs, or to be thrown away.
void Messages::match(Message& message, const Arrived& arrived) {
    const tutti_backend_call& call = *message.call;
    const int64_t bytes = bytes_of(*call.outputs, call);
    const bool fits = arrived.dtype == call.dtype && arrived.bytes == bytes;
    char* data = static_cast<char*>(call.outputs->data);
    message.is_direct = fits && settings_.is_direct;
    if (!message.is_direct) {
        message.flight.memory.push_back(take(static_cast<size_t>(arrived.bytes)));
        data = message.flight.memory[0].get();
    }
    message.source = arrived.source;
    const Typed all = message.flight.typed(arrived.bytes, settings_.max_bytes);
    MPI_Message taken = arrived.message;
    must(MPI_Imrecv(data, all.count, all.type, &taken, message.flight.request()), "MPI_Imrecv");
    if (fits) {
        moving_.push_back(std::move(message));
        return;
    }
    endings_.abandon(std::move(message.flight));
    endings_.add(&call, {TUTTI_ERR_MISMATCH,
                         "rank " + std::to_string(arrived.source) + " sends " +
                             std::to_string(arrived.bytes) + " bytes of dtype " +
                             std::to_string(arrived.dtype) + ", and this receive is for " +
                             std::to_string(bytes) + " of dtype " + std::to_string(call.dtype),
                         arrived.source});
}

void Messages::take_goodbye(const Arrived& arrived) {
    int64_t last = 0;
    MPI_Message taken = arrived.message;
    must(MPI_Mrecv(&last, sizeof last, MPI_BYTE, &taken, MPI_STATUS_IGNORE), "MPI_Mrecv");
    departures_.take_goodbye(arrived.source, last);
    collectives_.fail_without_departed();
    std::erase_if(waiting_, [&](const Message& one) {
        if (!departures_.nobody_sends(*one.call)) return false;
        endings_.add(one.call, failure_of_departed(arrived.source));
        return true;
    });
}

bool Messages::probe() {
    Arrived one{};
    int has_come = 0;
    MPI_Status status;
    must(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &has_come, &one.message, &status),
         "MPI_Improbe");
    if (has_come == 0) return false;
    one.source = status.MPI_SOURCE;
    one.tag = status.MPI_TAG / tags_of_a_message;
    one.dtype = static_cast<tutti_dtype>(status.MPI_TAG % tags_of_a_message);
    must(MPI_Get_elements_x(&status, MPI_BYTE, &one.bytes), "MPI_Get_elements_x");
    if (one.dtype == goodbye) {
        take_goodbye(one);
        return true;
    }
    const auto wanted = std::ranges::find_if(
        waiting_, [&](const Message& it) { return suits(*it.call, one.source, one.tag); });
    if (wanted == waiting_.end()) {
        arrived_.push_back(one);
        return true;
    }
    Message message = std::move(*wanted);
    waiting_.erase(wanted);
    match(message, one);
    return true;
}

void Messages::progress() {
    while ((!waiting_.empty() || departures_.awaits_goodbye()) && probe()) {
    }
    std::erase_if(moving_, [&](Message& one) {
        Failure failure;
        try {
            if (!one.flight.test()) return false;
        } catch (const Failure& caught) {
            failure = caught;
        }
        const tutti_backend_call& call = *one.call;
        const bool is_here = failure.status == TUTTI_OK && !one.is_direct;
        if (call.kind == TUTTI_CALL_RECEIVE && is_here && call.outputs->count > 0) {
            std::memcpy(call.outputs->data, one.flight.memory[0].get(),
                        static_cast<size_t>(bytes_of(*call.outputs, call)));
        }
        one.flight.free_types();
        endings_.add(&call, failure, call.kind == TUTTI_CALL_RECEIVE ? one.source : -1);
        return true;
    });
}

// A send of a copy ends without MPI, in whose hands the copy stays.
int32_t Messages::cancel(const tutti_backend_call* call) {
    const auto is_it = [call](const Message& one) { return one.call == call; };
    std::list<Message>& list = call->kind == TUTTI_CALL_SEND ? moving_ : waiting_;
    const auto found = std::ranges::find_if(list, is_it);
    if (found == list.end()) return 0;
    if (found->is_direct) return -1;
    endings_.add(call, {TUTTI_ERR_ABORTED, "it was cancelled"});
    endings_.abandon(std::move(found->flight));
    list.erase(found);
    return 1;
}

void Messages::say_goodbye(InFlight& flight, const Ranks& ranks, uint64_t last_sequence) {
    has_said_goodbye_ = true;
    flight.memory.push_back(take(sizeof(int64_t)));
    const auto last = static_cast<int64_t>(last_sequence);
    std::memcpy(flight.memory[0].get(), &last, sizeof last);
    flight.requests.reserve(static_cast<size_t>(ranks.size));
    for (int other = 0; other < ranks.size; ++other) {
        if (other == ranks.rank) continue;
        must(MPI_Isend(flight.memory[0].get(), sizeof last, MPI_BYTE, other, goodbye, comm_,
                       flight.request()),
             "MPI_Isend");
    }
}

bool Messages::have_gone() {
    return std::ranges::all_of(moving_, [](Message& one) {
        return one.call->kind != TUTTI_CALL_SEND || one.flight.test();
    });
}

void Messages::end_all(const Failure& why, const OperationQueue::InUse& is_in_use) {
    for (Message& one : waiting_) endings_.add(one.call, why);
    waiting_.clear();
    std::erase_if(moving_, [&](Message& one) {
        if (one.is_direct && is_in_use(one.flight)) return false;
        endings_.add(one.call, why);
        endings_.abandon(std::move(one.flight));
        return true;
    });
}

void Messages::abandon_all() {
    for (Message& one : moving_) endings_.abandon(std::move(one.flight));
}

}  // namespace tutti::mpi
