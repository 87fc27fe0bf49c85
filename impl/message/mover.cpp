// The mover moves what no caller waits for. It also looks whether the group has failed.
#include <chrono>
#include <utility>
#include <vector>

#include "messages.hpp"

namespace tutti::message {

// The mover advances what is in the background, unless a caller waits.
void Messages::employ_mover() {
    if (waiters_ > 0 || queues_.in_background() == 0) return;
    mover_.notify();
    if (!is_dozing_ || is_counted_) return;
    count_mover();
    queues_.set_driver(nullptr);
    queues_.advance();  // what came before it was counted
}

void Messages::count_mover() {
    doorbell_.sleepers.fetch_add(1, std::memory_order_seq_cst);
    is_counted_ = true;
}

void Messages::uncount_mover() {
    if (!is_counted_) return;
    doorbell_.sleepers.fetch_sub(1, std::memory_order_seq_cst);
    is_counted_ = false;
}

Attention::Seen Messages::seen() noexcept {
    return {.has_some = queues_.in_background() > 0, .waiting = waiters_, .waits = waits_};
}

// Advances everything in the background, unless a caller waits; looks around in any case. Sleeps on
// the doorbell once nothing has moved for a while, and is counted as a sleeper before it looks for
// the last time.
std::optional<Deadline> Messages::move() noexcept {
    uint32_t heard = 0;
    bool has_moved = false;
    bool dozes = true;
    Deferred after;
    {
        const Lock lock(mutex_);
        heard = doorbell_.rings.load(std::memory_order_seq_cst);
        const bool is_needed = waiters_ == 0;
        if (is_needed) count_mover();
        queues_.set_driver(nullptr);
        has_moved = is_needed && queues_.advance();
        if (has_moved) mover_pace_.moved();
        const bool may_move = is_needed && (has_moved || queues_.is_streaming());
        dozes = !may_move || mover_pace_.is_over();
        is_dozing_ = dozes;
        if (!dozes) uncount_mover();
        leave(after);
    }
    finish(after);
    const auto now = Clock::now();
    if (dozes) {
        doorbell_.await_ring(heard);
    } else if (!has_moved) {
        static_cast<void>(mover_pace_.next());
    }
    if (dozes || now - mover_looked_ >= between_looks) {
        mover_looked_ = now;
        look_around();
    }
    if (dozes) {
        const Lock lock(mutex_);
        is_dozing_ = false;
        uncount_mover();
    }
    return std::nullopt;
}

// Has the group failed, or a rank left, on which something here waits?
void Messages::look_around() {
    std::vector<int> peers;
    {
        const Lock lock(mutex_);
        const auto now = Clock::now();
        if (now < next_look_) return;
        next_look_ = now + between_looks;
        peers = queues_.peers_in_use();
    }
    const Status ours = trouble_(rank_);
    std::vector<std::pair<int, Status>> troubles;
    for (const int peer : peers) {
        if (Status status = trouble_(peer); !status.ok()) {
            troubles.emplace_back(peer, std::move(status));
        }
    }
    if (ours.ok() && troubles.empty()) return;
    enter([&](Queues& queues) {
        while (queues.advance()) {  // what they wrote before
        }
        if (!ours.ok()) queues.fail(ours);
        for (const auto& [peer, status] : troubles) queues.fail(peer, status);
        queues.fail_any_if_alone(troubles.size());
    });
}

}  // namespace tutti::message
