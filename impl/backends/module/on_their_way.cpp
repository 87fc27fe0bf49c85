#include "on_their_way.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "device/driver.hpp"

namespace tutti::ext {

namespace {

[[noreturn]] void throw_left(int rank) {
    throw Error(TUTTI_ERR_PEER_LOST, cat("rank ", rank, " has left the group"), rank);
}

}  // namespace

void OnTheirWay::add(const PostedCall& call) {
    const Lock lock(mutex_);
    calls_.push_back(&call);
}

void OnTheirWay::remove(const PostedCall& call) noexcept {
    const Lock lock(mutex_);
    const auto found = std::ranges::find(calls_, &call);
    if (found != calls_.end()) calls_.erase(found);
    if (watched_ == &call) watched_ = nullptr;
}

size_t OnTheirWay::size() const {
    const Lock lock(mutex_);
    return calls_.size();
}

void OnTheirWay::left(int rank) noexcept {
    const Lock lock(mutex_);
    gone_.insert(rank);
}

// A stream is in order, so the others wait for the first.
int OnTheirWay::needed_and_gone() const {
    if (calls_.empty() || gone_.empty()) return -1;
    const tutti_backend_call& first = *calls_.front()->raw();
    const bool is_message = first.kind == TUTTI_CALL_SEND || first.kind == TUTTI_CALL_RECEIVE;
    if (!is_message) return *gone_.begin();
    return gone_.contains(first.peer) ? first.peer : -1;
}

void OnTheirWay::check_left() {
    const Lock lock(mutex_);
    const int rank = needed_and_gone();
    if (rank < 0) return;
    if (watched_ != calls_.front()) {
        const auto& before = calls_.front()->begun();
        if (before && !before->passed()) return;
        watched_ = calls_.front();
        end_of_watch_ = Deadline::after_ms(patience_ms_);
    } else if (end_of_watch_.expired()) {
        throw_left(rank);
    }
}

void OnTheirWay::check_loss(const Status& loss) {
    const Lock lock(mutex_);
    const int rank = needed_and_gone();
    if (rank >= 0) throw_left(rank);
    if (!is_asking_) {
        is_asking_ = true;
        end_of_asking_ = Deadline::after_ms(patience_ms_);
    } else if (end_of_asking_.expired()) {
        throw Error(loss);
    }
}

}  // namespace tutti::ext
