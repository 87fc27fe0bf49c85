// The calls that a backend which completes on a stream has, in the order of their posts, and
// whether ranks that are gone keep them from their end. Ranks take part in a call at different
// times: one that has left may have done its part, so a call that needs it has some time to end,
// from when its stream has come to it.
// Any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <set>

#include "base/deadline.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"
#include "posted_call.hpp"

namespace tutti::ext {

class OnTheirWay {
public:
    explicit OnTheirWay(int64_t patience_ms) : patience_ms_(patience_ms) {}

    void add(const PostedCall& call);
    void remove(const PostedCall& call) noexcept;
    [[nodiscard]] bool empty() const { return size() == 0; }
    [[nodiscard]] size_t size() const;
    void left(int rank) noexcept;
    // Throws PEER_LOST if the oldest call has had its time since a rank that it needs has left;
    // otherwise what its device throws.
    void check_left();
    // The backend has lost a rank and does not know which. Throws PEER_LOST at once if it has left,
    // and `loss` if the membership has aborted nothing in time.
    void check_loss(const Status& loss);

private:
    // -1: none.
    [[nodiscard]] int needed_and_gone() const TUTTI_REQUIRES(mutex_);

    const int64_t patience_ms_;
    mutable Mutex mutex_;
    std::deque<const PostedCall*> calls_ TUTTI_GUARDED_BY(mutex_);
    std::set<int> gone_ TUTTI_GUARDED_BY(mutex_);
    const PostedCall* watched_ TUTTI_GUARDED_BY(mutex_) = nullptr;
    Deadline end_of_watch_ TUTTI_GUARDED_BY(mutex_) = Deadline::never();
    Deadline end_of_asking_ TUTTI_GUARDED_BY(mutex_) = Deadline::never();
    bool is_asking_ TUTTI_GUARDED_BY(mutex_) = false;
};

}  // namespace tutti::ext
