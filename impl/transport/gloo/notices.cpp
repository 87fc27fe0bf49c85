#include "notices.hpp"

#include <iterator>
#include <utility>

#include "wire.hpp"

namespace tutti::gloo_channel {

std::optional<Notices::Waiting> Notices::give(uint64_t slot, int rank, Connection& connection) {
    const Lock lock(mutex_);
    if (Receive* const receive = matching_.receive_for(slot, rank)) {
        Waiting what = std::move(receive->what);
        matching_.remove(*receive);
        receives_.erase(receive->place);
        return what;
    }
    Notice& kept = notices_.emplace_back(Notice{slot, rank, &connection});
    kept.place = std::prev(notices_.end());
    matching_.add(kept, slot, rank);
    return std::nullopt;
}

bool Notices::take(uint64_t slot, int rank) noexcept {
    const Lock lock(mutex_);
    Notice* const notice = matching_.message_for(slot, rank);
    if (notice == nullptr) return false;
    matching_.remove(*notice);
    notices_.erase(notice->place);
    return true;
}

Connection* Notices::first_or_wait(uint64_t slot, Waiting receive) {
    const Lock lock(mutex_);
    if (const Notice* const notice = matching_.message_for(slot, -1)) return notice->connection;
    Receive& waiting = receives_.emplace_back(Receive{slot, std::move(receive)});
    waiting.place = std::prev(receives_.end());
    waiting.turn = ++turns_;
    matching_.add(waiting, slot, -1);
    return nullptr;
}

template <typename Item, typename Chosen>
void Notices::remove_if(std::list<Item>& all, Chosen&& chosen) noexcept {
    for (auto next = all.begin(); next != all.end();) {
        Item& one = *next++;
        if (!chosen(one)) continue;
        matching_.remove(one);
        all.erase(one.place);
    }
}

void Notices::drop_of(int rank) noexcept {
    const Lock lock(mutex_);
    remove_if(notices_, [rank](const Notice& one) { return one.rank == rank; });
}

void Notices::forget(uint32_t group_id) noexcept {
    const Lock lock(mutex_);
    const auto is_of_group = [group_id](const auto& one) {
        return WireSlot(one.slot).group() == group_id;
    };
    remove_if(notices_, is_of_group);
    remove_if(receives_, is_of_group);
}

}  // namespace tutti::gloo_channel
