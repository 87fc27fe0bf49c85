// The queue runs through the slots themselves: nothing is allocated, so nothing can fail. At exit
// the process gives the thread a moment for what was released before, so that a file store's file
// goes and a peer sees a proper end; static destructors do nothing here.
#include "reaper.hpp"

#include <pthread.h>

#include <cstdlib>
#include <new>
#include <utility>

#include "base/mutex.hpp"
#include "base/thread.hpp"
#include "guard.hpp"

namespace tutti::capi {

namespace {

constexpr int64_t drain_timeout_ms = 1000;

class Reaper {
public:
    void add(Slot& slot) noexcept {
        const Lock lock(mutex_);
        slot.next = nullptr;
        *end_ = &slot;
        end_ = &slot.next;
        if (!running_) running_ = start();
        changed_.notify_all();
    }

    // Until nothing is left, or the time is up.
    void drain(const Deadline& deadline) noexcept {
        Lock lock(mutex_);
        if (!running_ || pthread_equal(thread_, pthread_self()) != 0) return;
        while ((first_ != nullptr || busy_) && changed_.wait(lock, deadline)) {
        }
    }

    void end() noexcept {
        Lock lock(mutex_);
        if (!running_) return;
        stopping_ = true;
        changed_.notify_all();
        const pthread_t thread = thread_;
        lock.unlock();
        pthread_join(thread, nullptr);
        lock.lock();
        running_ = false;
        stopping_ = false;
        // Somebody may have released something meanwhile.
        if (first_ != nullptr) running_ = start();
    }

    // Nobody joins the thread any more.
    void let_go() noexcept {
        const Lock lock(mutex_);
        leaving_ = true;
        if (running_) pthread_detach(thread_);
    }

private:
    // False if the system has no thread to give: the next release tries again.
    bool start() noexcept TUTTI_REQUIRES(mutex_) {
        const SignalsBlocked blocked;
        const auto body = [](void* reaper) -> void* {
            static_cast<Reaper*>(reaper)->run();
            return nullptr;
        };
        if (pthread_create(&thread_, nullptr, body, this) != 0) return false;
        if (leaving_) pthread_detach(thread_);
        if (!std::exchange(drains_at_exit_, true)) std::atexit(drain_at_exit);
        return true;
    }

    static void drain_at_exit() noexcept;

    void run() noexcept {
        pthread_setname_np(pthread_self(), "tutti-reaper");
        Lock lock(mutex_);
        for (;;) {
            while (first_ == nullptr && !stopping_) changed_.wait(lock);
            if (first_ == nullptr) return;
            Slot& slot = *first_;
            first_ = slot.next;
            if (first_ == nullptr) end_ = &first_;
            busy_ = true;
            lock.unlock();
            slot.object.reset();
            give_slot_back(slot);
            lock.lock();
            busy_ = false;
            changed_.notify_all();
        }
    }

    Mutex mutex_;
    Condition changed_;
    Slot* first_ TUTTI_GUARDED_BY(mutex_) = nullptr;
    Slot** end_ TUTTI_GUARDED_BY(mutex_) = &first_;
    bool busy_ TUTTI_GUARDED_BY(mutex_) = false;
    bool running_ TUTTI_GUARDED_BY(mutex_) = false;
    bool stopping_ TUTTI_GUARDED_BY(mutex_) = false;
    bool leaving_ TUTTI_GUARDED_BY(mutex_) = false;  // the process
    bool drains_at_exit_ TUTTI_GUARDED_BY(mutex_) = false;
    pthread_t thread_ TUTTI_GUARDED_BY(mutex_){};
};

// Never destroyed: its thread waits in it until the very end of the process.
Reaper& reaper() noexcept {
    alignas(Reaper) static std::byte place[sizeof(Reaper)];
    static Reaper* const instance = new (place) Reaper;
    return *instance;
}

void Reaper::drain_at_exit() noexcept {
    if (forked()) return;
    let_releases_end();
    reaper().let_go();
}

}  // namespace

void reap(Slot& slot) noexcept {
    reaper().add(slot);
}

void let_releases_end() noexcept {
    reaper().drain(Deadline::after_ms(drain_timeout_ms));
}

void end_reaper() noexcept {
    reaper().end();
}

}  // namespace tutti::capi
