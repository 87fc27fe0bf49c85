#include "decisions.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/fault_point.hpp"

namespace tutti::membership {

namespace {

// What the arbiter may take once the deadline has passed; the next coordinator waits for ranks.
constexpr int64_t answer_ms = 10'000;

std::string key_of(uint64_t number) {
    return cat("decision/", number);
}

}  // namespace

Decisions::Decisions(uint32_t group, std::vector<int> participants, Send send)
    : group_(group), participants_(std::move(participants)), send_(std::move(send)) {}

std::string Decisions::key() const {
    return key_of(taken_ + 1);
}

std::string Decisions::first_proposal(uint32_t group, std::vector<int> participants,
                                      const Terms& terms) {
    return encode(Proposal{group, key_of(1), std::move(participants), terms.excluded,
                           terms.new_groups, terms.payload});
}

// False when the deadline has passed without the decision.
bool Decisions::wait(Lock& lock, const Deadline& deadline) {
    while (!next_ && end_.ok()) {
        if (!changed_.wait(lock, deadline)) return next_ || !end_.ok();
    }
    return true;
}

// One thread of this rank.
class Decisions::Turn {
public:
    Turn(Decisions& of, const Deadline& deadline) : of_(of) {
        Lock lock(of.mutex_);
        while (of.is_taking_ && of.end_.ok() && of.changed_.wait(lock, deadline)) {
        }
        if (!of.end_.ok()) throw Error(of.end_);
        if (of.is_taking_) {
            throw Error(TUTTI_ERR_TIMEOUT,
                        "timed out while another thread of this rank was in such a call");
        }
        of.is_taking_ = true;
    }
    ~Turn() {
        const Lock lock(of_.mutex_);
        of_.is_taking_ = false;
        of_.changed_.notify_all();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

private:
    Decisions& of_;
};

std::string Decisions::propose(const Terms& terms) const {
    return encode(
        Proposal{group_, key(), participants_, terms.excluded, terms.new_groups, terms.payload});
}

std::optional<Decision> Decisions::take(const Terms& terms, const Deadline& deadline) {
    const Turn turn(*this, deadline);
    Lock lock(mutex_);
    const std::string key = this->key();
    if (!next_) {
        const std::string proposal = propose(terms);
        lock.unlock();
        send_(proposal);
        TUTTI_FAULT_POINT("decision.wait");
        lock.lock();
        if (!wait(lock, deadline)) {
            lock.unlock();
            send_(encode(GiveUp{group_, key}));
            lock.lock();
            (void)wait(lock, Deadline::after_ms(answer_ms));
        }
    }
    if (!next_ && !end_.ok()) throw Error(end_);
    auto decision = std::exchange(next_, std::nullopt);
    if (decision) ++taken_;
    return decision;
}

void Decisions::pass(const Terms& terms) {
    Lock lock(mutex_);
    if (is_taking_ || !end_.ok()) return;  // another thread speaks for this rank, or nobody
    if (std::exchange(next_, std::nullopt)) ++taken_;
    const std::string proposal = propose(terms);
    ++taken_;
    lock.unlock();
    send_(proposal);
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
