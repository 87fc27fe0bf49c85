// The rings between this rank and its neighbours. On the thread that makes the group.
#include "rings.hpp"

#include <algorithm>

namespace tutti::message {

namespace {

Doorbell& bell_in(void* memory) {
    return static_cast<Front*>(memory)->doorbell;
}

}  // namespace

bool Neighbours::has(int rank) const {
    const auto found = std::ranges::find(ranks, rank, &Rank::rank);
    return found != ranks.end() && found->memory != nullptr;
}

Doorbell* Neighbours::doorbell_of(int rank) const {
    const auto found = std::ranges::find(ranks, rank, &Rank::rank);
    return found == ranks.end() ? nullptr : &bell_in(found->memory);
}

Rings::Rings(Messages& messages, const Neighbours& neighbours, int rank) : messages_(messages) {
    const auto& ranks = neighbours.ranks;
    const auto size = static_cast<int>(ranks.size());
    const auto mine = std::ranges::find(ranks, rank, &Neighbours::Rank::rank);
    if (mine == ranks.end()) return;
    const auto own = static_cast<int>(mine - ranks.begin());
    shared_ = std::make_shared<shm::Shared>(own);
    messages.enter([&](Queues& queues) {
        for (int place = 0; place < size; ++place) {
            const auto& peer = ranks[static_cast<size_t>(place)];
            if (place == own || peer.memory == nullptr) continue;
            const RingPeer::Ends ends{RingView::in(mine->memory, place, size),
                                      RingView::in(peer.memory, own, size), bell_in(peer.memory)};
            const Sender sender{peer.rank, place, peer.process, neighbours.long_data};
            queues.add(peer.rank, std::make_unique<RingPeer>(queues, ends, sender, shared_));
        }
    });
}

void Rings::see(const shm::Shared& shared) {
    messages_.enter([&](Queues& /*queues*/) {
        if (shared_) *shared_ = shared;
    });
}

}  // namespace tutti::message
