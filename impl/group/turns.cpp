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
    const uint64_t number = next_++;
    if (current_ == number) return {number, true};
    Lock lock(mutex_);
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
    const uint64_t current = ++current_;
    if (next_ == current) return;  // nobody waits for a turn
    const Lock lock(mutex_);
    changed_.notify_all();
}

uint64_t Turns::queue(Job job) {
    const Lock lock(mutex_);
    if (!thread_.joinable()) {  // first: without a thread no number is drawn
        thread_ = start_thread("tutti-group", [this] { work(); });
    }
    queue_.emplace_back(0, std::move(job));
    const uint64_t number = next_++;
    queue_.back().first = number;
    changed_.notify_all();
    return number;
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
        pass();
        lock.lock();
    }
}

}  // namespace tutti
