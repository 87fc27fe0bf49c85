#include "decisions.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/fault_point.hpp"

namespace tutti::membership {

namespace {

// What the arbiter may take once the deadline has passed; the next coordinator waits for ranks.
constexpr int64_t answer_ms = 10'000;

}  // namespace

Decisions::Decisions(uint32_t group, std::vector<int> participants, Send send)
    : group_(group), participants_(std::move(participants)), send_(std::move(send)) {}

std::string Decisions::key() const {
    return cat("decision/", taken_ + 1);
}

// False when the deadline has passed without the decision.
bool Decisions::wait(Lock& lock, const Deadline& deadline) {
    while (!next_ && end_.ok()) {
        if (!changed_.wait(lock, deadline)) return next_ || !end_.ok();
    }
    return true;
}

std::optional<Decision> Decisions::take(const Terms& terms, const Deadline& deadline) {
    Lock lock(mutex_);
    while (is_taking_ && end_.ok()) changed_.wait(lock);
    if (!end_.ok()) throw Error(end_);
    is_taking_ = true;
    const std::string key = this->key();
    if (!next_) {
        lock.unlock();
        send_(encode(
            Proposal{group_, key, participants_, terms.excluded, terms.new_groups, terms.payload}));
        TUTTI_FAULT_POINT("decision.wait");
        lock.lock();
        if (!wait(lock, deadline)) {
            lock.unlock();
            send_(encode(GiveUp{group_, key}));
            lock.lock();
            (void)wait(lock, Deadline::after_ms(answer_ms));
        }
    }
    is_taking_ = false;
    changed_.notify_all();
    if (!next_ && !end_.ok()) throw Error(end_);
    auto decision = std::exchange(next_, std::nullopt);
    if (decision) ++taken_;
    return decision;
}

void Decisions::on_decision(const Decision& decision) {
    const Lock lock(mutex_);
    if (decision.key != key()) return;
    next_ = decision;
    changed_.notify_all();
}

void Decisions::end(const Status& why) {
    const Lock lock(mutex_);
    end_ = why;
    changed_.notify_all();
}

}  // namespace tutti::membership
