// A thread of the module that runs jobs in their order. It starts with the first job. All signals
// are blocked on it: Gloo writes to connections that may be closed, and SIGPIPE must not end the
// program. add() and close() may be called on any thread but the worker's.
#pragma once

#include <condition_variable>
#include <csignal>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tutti::gloo_module {

// Blocks all signals of this thread, and of the threads that it starts, for as long as it exists. A
// SIGPIPE of this thread is dropped.
class BlockedSignals {
public:
    BlockedSignals() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~BlockedSignals() {
        sigset_t pipe;
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        const timespec at_once{0, 0};
        if (sigismember(&before_, SIGPIPE) == 0) sigtimedwait(&pipe, nullptr, &at_once);
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;

private:
    sigset_t before_{};
};

class Worker {
public:
    using Job = std::function<void()>;  // it must not throw

    Worker() = default;
    ~Worker() { close(); }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void add(Job job) {
        const std::lock_guard lock(mutex_);
        if (!thread_.joinable()) {
            const BlockedSignals blocked;
            thread_ = std::thread([this] { run(); });
        }
        jobs_.push_back(std::move(job));
        changed_.notify_all();
    }
    // Runs what is left, and ends the thread.
    void close() {
        {
            const std::lock_guard lock(mutex_);
            is_closed_ = true;
            changed_.notify_all();
        }
        if (thread_.joinable()) thread_.join();
    }

private:
    void run() {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [this] { return is_closed_ || !jobs_.empty(); });
            if (jobs_.empty()) return;
            {
                const Job job = std::move(jobs_.front());
                jobs_.pop_front();
                lock.unlock();
                job();
            }
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> jobs_;
    bool is_closed_ = false;
    std::thread thread_;
};

}  // namespace tutti::gloo_module
