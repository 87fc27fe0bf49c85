// Lists by tag, each in its order. Under the lock of the Messages.
#include "matching.hpp"

namespace tutti::shm {

void Matching::add(Receiving& receiving) {
    receivings_[lane(receiving.call.tag)].push_back(receiving);
    ++waiting(receiving.call);
}

void Matching::remove(Receiving& receiving) {
    receiving.leave_list();
    --waiting(receiving.call);
}

Receiving* Matching::find_receiving(int source, int tag) {
    return receivings_[lane(tag)].find([&](const Receiving& one) {
        return one.call.tag == tag &&
               (one.call.source == source || (one.call.source == any_source && source != rank_));
    });
}

void Matching::add(std::unique_ptr<Arrival> arrival) {
    kept_ += arrival->kept;
    ++arrived_[static_cast<size_t>(arrival->source)];
    arrivals_[lane(arrival->head.tag)].push_back(*arrival.release());
}

std::unique_ptr<Arrival> Matching::remove(Arrival& arrival) {
    arrival.leave_list();
    kept_ -= arrival.kept;
    --arrived_[static_cast<size_t>(arrival.source)];
    return std::unique_ptr<Arrival>(&arrival);
}

Arrival* Matching::find_arrival(const Receive& call) {
    return arrivals_[lane(call.tag)].find([&](const Arrival& one) {
        return one.head.tag == call.tag &&
               (one.source == call.source || (call.source == any_source && one.source != rank_));
    });
}

void Matching::clear() {
    for_arrivals([this](Arrival& arrival) { remove(arrival); });
}

}  // namespace tutti::shm
