// Something that takes a while, done for a loop by a thread of its own, tutti-rejoin: one at a
// time. Loop thread only, but for join().
#pragma once

#include <functional>
#include <thread>

#include "base/mutex.hpp"

namespace tutti::membership {

class Errand {
public:
    // In place of one before, for which it waits. False: there can be no thread, and it is not
    // done.
    bool start(std::function<void()> act);
    // Nothing is under way any more. Any thread.
    void join();

private:
    Mutex mutex_;
    std::thread thread_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::membership
