// The collectives that a group gathers instead of doing them, to issue them as one. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/mutex.hpp"
#include "call/claims.hpp"
#include "call/coalesced.hpp"

namespace tutti {

class Gathering {
public:
    // Throws INVALID_ARGUMENT if it has begun already.
    void begin();
    [[nodiscard]] bool has_begun() const { return begun_; }
    // Takes the call, and leaves nothing of it, if the gathering has begun. Throws INVALID_ARGUMENT
    // for one that cannot be gathered, or whose memory another one uses too: the order of what is
    // issued as one is nobody's.
    bool take(FlatCall& call, int64_t timeout_ms);
    // What has been gathered, in order. Throws INVALID_ARGUMENT if it has not begun.
    Coalesced end();

private:
    std::atomic<bool> begun_{false};
    Mutex mutex_;
    Coalesced calls_ TUTTI_GUARDED_BY(mutex_);
    Claims claims_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti
