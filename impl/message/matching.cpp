// Under the lock of the Messages.
#include "matching.hpp"

namespace tutti::message {

namespace {

uint64_t slot_of(int tag) {
    return static_cast<uint32_t>(tag);
}

QueueKey key_of(const Work& work) {
    return {reinterpret_cast<uintptr_t>(&work)};
}

}  // namespace

void Matching::add(Receiving& receiving) {
    table_.add_receive(receiving, slot_of(receiving.call.tag), receiving.call.source);
    if (receiving.work) by_work_.push_back(receiving, key_of(*receiving.work));
    receivings_.push_back(receiving);
    ++waiting(receiving.call);
}

void Matching::remove(Receiving& receiving) {
    table_.remove_receive(receiving);
    by_work_.remove(receiving);
    receiving.leave_list();
    --waiting(receiving.call);
}

// Receives from any source are for messages of other ranks.
Receiving* Matching::find_receiving(int source, int tag) {
    if (source == rank_) return find_started(source, tag);
    return table_.receive_for(slot_of(tag), source);
}

Receiving* Matching::find_started(int source, int tag) {
    return table_.first_receive(slot_of(tag), source);
}

Receiving* Matching::find_receiving(const Work& work) {
    return by_work_.first(key_of(work));
}

void Matching::add(std::unique_ptr<Arrival> arrival) noexcept {
    Arrival& added = *arrival.release();
    kept_ += added.kept;
    ++arrived_[static_cast<size_t>(added.source)];
    arrivals_.push_back(added);
    if (added.source == rank_) {
        table_.add_message_for_peer(added, slot_of(added.tag), rank_);
    } else {
        table_.add_message(added, slot_of(added.tag), added.source);
    }
    if (added.own != nullptr) added.own->arrival = &added;
}

std::unique_ptr<Arrival> Matching::remove(Arrival& arrival) noexcept {
    table_.remove_message(arrival);
    arrival.leave_list();
    kept_ -= arrival.kept;
    --arrived_[static_cast<size_t>(arrival.source)];
    if (arrival.own != nullptr) arrival.own->arrival = nullptr;
    return std::unique_ptr<Arrival>(&arrival);
}

Arrival* Matching::find_arrival(const Receive& call) {
    return table_.message_for(slot_of(call.tag), call.source);
}

void Matching::clear() {
    drop_arrivals([](const Arrival& /*arrival*/) { return true; });
}

}  // namespace tutti::message
