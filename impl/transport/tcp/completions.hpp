// Transfers that are done, until their listeners have been told: in the order in which they were
// done, by one thread at a time, which may be another one than completed them. Any thread; locks
// nothing else.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "base/mutex.hpp"
#include "transport/channel.hpp"

namespace tutti::tcp {

class Completions {
public:
    void add(const std::shared_ptr<TransferListener>& listener, Transfer& transfer);
    // Behind those that were added so far.
    void then(std::function<void()> act);

    // Without a lock; true if any were told. What a listener completes is told in there, unless
    // listeners are within listeners too deep for the stack: then the outer ones go on. Who waits
    // for the end of it says `however_deep`.
    bool tell(bool however_deep = false) noexcept;

private:
    struct Completion {
        std::shared_ptr<TransferListener> listener;
        Transfer* transfer;
        std::function<void()> act;  // instead
    };
    void push(Completion completion);

    std::atomic<bool> has_any_{false};
    Mutex mutex_;
    std::deque<Completion> waiting_ TUTTI_GUARDED_BY(mutex_);
    std::thread::id teller_ TUTTI_GUARDED_BY(mutex_);
    int depth_ TUTTI_GUARDED_BY(mutex_) = 0;
};

}  // namespace tutti::tcp
