// A rank's channel that counts how often the rank has said that it waits for others.
#pragma once

#include <string>

#include "base/mutex.hpp"
#include "ranks.hpp"

namespace tutti::test {

class Count {
public:
    void add_one() {
        const Lock lock(mutex_);
        ++value_;
        changed_.notify_all();
    }
    void wait_until_at_least(int value) {
        const Deadline deadline = ample();
        Lock lock(mutex_);
        while (value_ < value) {
            require(changed_.wait(lock, deadline), cat("the count is not yet ", value));
        }
    }

private:
    Mutex mutex_;
    Condition changed_;
    int value_ TUTTI_GUARDED_BY(mutex_) = 0;
};

class WatchedChannel : public Channel {
public:
    WatchedChannel(Channel& channel, Count& stalls)
        : Channel(channel.membership()), channel_(channel) {
        set_comparison([&stalls] { stalls.add_one(); });  // asked whenever it waits for long
    }
    [[nodiscard]] const char* name() const override { return channel_.name(); }
    void post_send(Transfer& transfer, int peer, Slot slot, const void* data,
                   size_t bytes) override {
        channel_.post_send(transfer, peer, slot, data, bytes);
    }
    void post_receive(Transfer& transfer, int peer, Slot slot, void* data, size_t bytes) override {
        channel_.post_receive(transfer, peer, slot, data, bytes);
    }
    void post_receive_any(Transfer& transfer, Slot slot, void* data, size_t bytes) override {
        channel_.post_receive_any(transfer, slot, data, bytes);
    }
    void take_back(int peer, Slot slot) noexcept override { channel_.take_back(peer, slot); }
    void abort(const Status& status) noexcept override { channel_.abort(status); }
    void abort_messages(const Status& status) noexcept override { channel_.abort_messages(status); }
    void left(int peer) noexcept override { channel_.left(peer); }
    void leave() noexcept override { channel_.leave(); }
    [[nodiscard]] Driver* driver() const override { return channel_.driver(); }

private:
    Channel& channel_;
};

}  // namespace tutti::test
