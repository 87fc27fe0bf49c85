#include "turns.hpp"

#include "base/thread.hpp"

namespace tutti {

Turns::~Turns() {
    std::thread thread;
    {
        const Lock lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
        thread = std::move(thread_);
    }
    if (thread.joinable()) thread.join();
}

std::pair<uint64_t, bool> Turns::take(const Deadline& deadline) {
    Lock lock(mutex_);
    const uint64_t number = next_++;
    while (current_ != number) {
        if (!changed_.wait(lock, deadline)) return {number, current_ == number};
    }
    return {number, true};
}

void Turns::await(uint64_t number) {
    Lock lock(mutex_);
    while (current_ != number) changed_.wait(lock);
}

void Turns::pass() noexcept {
    const Lock lock(mutex_);
    ++current_;
    if (next_ != current_) changed_.notify_all();  // else nobody waits for a turn
}

uint64_t Turns::queue(Job job) {
    const Lock lock(mutex_);
    if (!thread_.joinable()) {  // first: without a thread no number is drawn
        thread_ = start_thread("tutti-group", [this] { work(); });
    }
    queue_.emplace_back(next_, std::move(job));
    changed_.notify_all();
    return next_++;
}

void Turns::work() {
    Lock lock(mutex_);
    for (;;) {
        while (queue_.empty() ? !stopping_ : current_ != queue_.front().first) changed_.wait(lock);
        if (queue_.empty()) return;
        auto [number, job] = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        job(number);
        job = nullptr;
        lock.lock();
        ++current_;
        changed_.notify_all();
    }
}

}  // namespace tutti
