// The calls of a communicator that NCCL does not have yet, in the order of their posts, and what
// holds them back. Plain data: one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "tutti/ext.h"

namespace tutti::nccl {

// Calls that go to NCCL as one group of its.
using Batch = std::vector<const tutti_backend_call*>;

class CallQueue {
public:
    void add(const tutti_backend_call* call) {
        const bool is_message = call->kind == TUTTI_CALL_SEND || call->kind == TUTTI_CALL_RECEIVE;
        last_sequence_ = std::max(last_sequence_, call->sequence);
        if (is_message && together_ > 0) {
            gathered_.push_back(call);
        } else {
            waiting_.push_back({call});
        }
    }
    // Messages that are added between a call with true and one with false are one batch. True: that
    // waits now.
    [[nodiscard]] bool gather(bool begins) {
        together_ += begins ? 1 : -1;
        if (together_ > 0 || gathered_.empty()) return false;
        waiting_.push_back(std::exchange(gathered_, {}));
        return true;
    }

    [[nodiscard]] bool has_waiting() const { return !waiting_.empty(); }
    // Whether a batch waits that nothing holds back.
    [[nodiscard]] bool has_next() const {
        return !waiting_.empty() && !is_held_ && !(is_sharing_ && ahead_ == 0);
    }
    [[nodiscard]] Batch take_next() {
        Batch next = std::move(waiting_.front());
        waiting_.pop_front();
        if (is_sharing_) --ahead_;
        return next;
    }
    // All calls, which are not to begin any more.
    [[nodiscard]] Batch take_all() {
        Batch all;
        for (const Batch& one : std::exchange(waiting_, {})) {
            all.insert(all.end(), one.begin(), one.end());
        }
        all.insert(all.end(), gathered_.begin(), gathered_.end());
        gathered_.clear();
        return all;
    }

    // For a split: no call begins.
    void hold(bool is_held) { is_held_ = is_held; }
    [[nodiscard]] bool is_held() const { return is_held_; }
    // While memory is shared, no more calls begin than those that wait at this time.
    void begin_sharing() {
        is_sharing_ = true;
        allow_waiting();
    }
    void end_sharing() { is_sharing_ = false; }
    void allow_waiting() { ahead_ = waiting_.size(); }
    [[nodiscard]] bool has_none_ahead() const { return ahead_ == 0; }

    // No call waits, and nothing holds calls back.
    [[nodiscard]] bool is_at_rest() const { return waiting_.empty() && !is_held_ && !is_sharing_; }
    // No call has come that is to begin.
    [[nodiscard]] bool is_drained() const {
        return waiting_.empty() && gathered_.empty() && !is_sharing_;
    }
    // The number of the last collective so far.
    [[nodiscard]] uint64_t last_sequence() const { return last_sequence_; }

private:
    std::deque<Batch> waiting_;
    Batch gathered_;  // messages that go together
    int together_ = 0;
    uint64_t last_sequence_ = 0;
    bool is_held_ = false;
    bool is_sharing_ = false;
    size_t ahead_ = 0;  // the first that wait, which may begin
};

}  // namespace tutti::nccl
