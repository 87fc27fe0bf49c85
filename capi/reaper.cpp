// The queue runs through the slots themselves: nothing is allocated, so nothing can fail. One
// thread stays and waits for releases. What is released while all threads are held up, by slow
// peers, gets a helper, which stays until the queue is empty: no end waits for another one, unless
// there are very many. At exit the process gives the threads a moment for what was released before,
// so that the file of a file store goes and a peer sees a proper end. Statics do nothing.
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
constexpr size_t max_helpers = 63;  // they wait for peers, and hardly compute

// Whether this thread is one of the reaper's: what it ends may call the program.
thread_local bool reaping = false;

class Reaper {
public:
    void add(Slot& slot) noexcept {
        const Lock lock(mutex_);
        slot.next = nullptr;
        *end_ = &slot;
        end_ = &slot.next;
        if (!running_) running_ = start();
        get_help();
        changed_.notify_all();
    }

    // Until nothing is left, or the time is up.
    void drain(const Deadline& deadline) noexcept {
        Lock lock(mutex_);
        if (!running_ || reaping) return;
        while (!is_done() && changed_.wait(lock, deadline)) {
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
        while (helpers_ > 0) changed_.wait(lock);
        running_ = false;
        stopping_ = false;
        // Another thread may have released something meanwhile.
        if (first_ != nullptr) running_ = start();
    }

    // From now on no thread joins the reaper.
    void let_go() noexcept {
        const Lock lock(mutex_);
        leaving_ = true;
        if (running_) pthread_detach(thread_);
    }

private:
    [[nodiscard]] bool is_done() const TUTTI_REQUIRES(mutex_) {
        return first_ == nullptr && busy_ == 0;
    }

    // False if the system has no thread to give: the next release tries again.
    bool start() noexcept TUTTI_REQUIRES(mutex_) {
        const SignalsBlocked blocked;
        const auto body = [](void* reaper) -> void* {
            static_cast<Reaper*>(reaper)->run(true);
            return nullptr;
        };
        if (pthread_create(&thread_, nullptr, body, this) != 0) return false;
        ++idle_;
        if (leaving_) pthread_detach(thread_);
        if (!std::exchange(drains_at_exit_, true)) std::atexit(drain_at_exit);
        return true;
    }

    // A helper, if something waits and all threads are held up. If the system has no thread to
    // give, those that there are come to it in time.
    void get_help() noexcept TUTTI_REQUIRES(mutex_) {
        if (!running_ || first_ == nullptr || idle_ > 0 || helpers_ == max_helpers) return;
        const SignalsBlocked blocked;
        const auto body = [](void* reaper) -> void* {
            static_cast<Reaper*>(reaper)->run(false);
            return nullptr;
        };
        pthread_t thread;
        if (pthread_create(&thread, nullptr, body, this) != 0) return;
        pthread_detach(thread);  // end() waits for helpers_
        ++helpers_;
        ++idle_;
    }

    static void drain_at_exit() noexcept;

    void run(bool stays) noexcept {
        pthread_setname_np(pthread_self(), "tutti-reaper");
        reaping = true;
        Lock lock(mutex_);
        for (;;) {
            while (stays && first_ == nullptr && !stopping_) changed_.wait(lock);
            if (first_ == nullptr) break;
            Slot& slot = take_first();
            lock.unlock();
            slot.object.reset();
            give_slot_back(slot);
            lock.lock();
            --busy_;
            ++idle_;
            changed_.notify_all();
        }
        --idle_;
        if (!stays) --helpers_;
        changed_.notify_all();
    }

    Slot& take_first() noexcept TUTTI_REQUIRES(mutex_) {
        Slot& slot = *first_;
        first_ = slot.next;
        if (first_ == nullptr) end_ = &first_;
        --idle_;
        ++busy_;
        get_help();
        return slot;
    }

    Mutex mutex_;
    Condition changed_;
    Slot* first_ TUTTI_GUARDED_BY(mutex_) = nullptr;
    Slot** end_ TUTTI_GUARDED_BY(mutex_) = &first_;
    size_t busy_ TUTTI_GUARDED_BY(mutex_) = 0;  // threads that end something
    size_t idle_ TUTTI_GUARDED_BY(mutex_) = 0;  // threads that come to the queue next
    size_t helpers_ TUTTI_GUARDED_BY(mutex_) = 0;
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
    drain_reaper();
    reaper().let_go();
}

}  // namespace

void reap(Slot& slot) noexcept {
    reaper().add(slot);
}

void drain_reaper() noexcept {
    reaper().drain(Deadline::after_ms(drain_timeout_ms));
}

void end_reaper() noexcept {
    reaper().end();
}

}  // namespace tutti::capi
