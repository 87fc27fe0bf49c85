// Lists by tag, each in its order. Under the lock of the Messages.
#include "matching.hpp"

namespace tutti::message {

void Matching::add(Receiving& receiving) {
    receivings_[list_of(receiving.call.tag)].insert_after_last(
        receiving, [&](const Receiving& other) { return other.turn < receiving.turn; });
    ++waiting(receiving.call);
}

void Matching::remove(Receiving& receiving) {
    receiving.leave_list();
    --waiting(receiving.call);
}

Receiving* Matching::find_receiving(int source, int tag) {
    return receivings_[list_of(tag)].find([&](const Receiving& one) {
        return one.call.tag == tag &&
               (one.call.source == source || (one.call.source == any_source && source != rank_));
    });
}

void Matching::add(std::unique_ptr<Arrival> arrival) noexcept {
    kept_ += arrival->kept;
    ++arrived_[static_cast<size_t>(arrival->source)];
    arrivals_[list_of(arrival->tag)].push_back(*arrival.release());
}

std::unique_ptr<Arrival> Matching::remove(Arrival& arrival) noexcept {
    arrival.leave_list();
    kept_ -= arrival.kept;
    --arrived_[static_cast<size_t>(arrival.source)];
    return std::unique_ptr<Arrival>(&arrival);
}

Arrival* Matching::find_arrival(const Receive& call) {
    return arrivals_[list_of(call.tag)].find([&](const Arrival& one) {
        return one.tag == call.tag &&
               (one.source == call.source || (call.source == any_source && one.source != rank_));
    });
}

void Matching::clear() {
    drop_arrivals([](const Arrival& /*arrival*/) { return true; });
}

}  // namespace tutti::message
