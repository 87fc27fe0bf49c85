#include "notices.hpp"

#include <iterator>
#include <utility>

#include "wire.hpp"

namespace tutti::gloo_channel {

std::optional<Notices::Waiting> Notices::give(uint64_t slot, int rank, Connection& connection) {
    const Lock lock(mutex_);
    if (Receive* const receive = matching_.receive_for(slot, rank)) {
        Waiting what = std::move(receive->what);
        matching_.remove_receive(*receive);
        receives_.erase(receive->place);
        return what;
    }
    Notice& kept = notices_.emplace_back(Notice{slot, rank, &connection});
    kept.place = std::prev(notices_.end());
    matching_.add_message(kept, slot, rank);
    return std::nullopt;
}

bool Notices::take(uint64_t slot, int rank) noexcept {
    const Lock lock(mutex_);
    Notice* const notice = matching_.message_for(slot, rank);
    if (notice == nullptr) return false;
    matching_.remove_message(*notice);
    notices_.erase(notice->place);
    return true;
}

Connection* Notices::first_or_wait(uint64_t slot, Waiting receive) {
    const Lock lock(mutex_);
    if (const Notice* const notice = matching_.message_for(slot, -1)) return notice->connection;
    Receive& waiting = receives_.emplace_back(Receive{slot, std::move(receive)});
    waiting.place = std::prev(receives_.end());
    waiting.turn = ++turns_;
    matching_.add_receive(waiting, slot, -1);
    return nullptr;
}

template <typename Chosen>
void Notices::remove_notices_if(Chosen&& chosen) noexcept {
    for (auto next = notices_.begin(); next != notices_.end();) {
        Notice& one = *next++;
        if (!chosen(one)) continue;
        matching_.remove_message(one);
        notices_.erase(one.place);
    }
}

void Notices::drop_of(int rank) noexcept {
    const Lock lock(mutex_);
    remove_notices_if([rank](const Notice& one) { return one.rank == rank; });
}

void Notices::forget(uint32_t group_id) noexcept {
    const Lock lock(mutex_);
    const auto is_of_group = [group_id](const auto& one) {
        return WireSlot(one.slot).group() == group_id;
    };
    remove_notices_if(is_of_group);
    for (auto next = receives_.begin(); next != receives_.end();) {
        Receive& one = *next++;
        if (!is_of_group(one)) continue;
        matching_.remove_receive(one);
        receives_.erase(one.place);
    }
}

}  // namespace tutti::gloo_channel
