#include "ticket_queue.hpp"

#include "base/thread.hpp"

namespace tutti {

TicketQueue::~TicketQueue() {
    std::thread thread;
    {
        const Lock lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
        thread = std::move(thread_);
    }
    if (thread.joinable()) thread.join();
}

std::pair<uint64_t, bool> TicketQueue::take(const Deadline& deadline) {
    const uint64_t ticket = next_++;
    if (current_ == ticket) return {ticket, true};
    Lock lock(mutex_);
    while (current_ != ticket) {
        if (!changed_.wait(lock, deadline)) return {ticket, current_ == ticket};
    }
    return {ticket, true};
}

void TicketQueue::await(uint64_t ticket) {
    Lock lock(mutex_);
    while (current_ != ticket) changed_.wait(lock);
}

void TicketQueue::pass() noexcept {
    const uint64_t current = ++current_;
    if (next_ == current) return;  // nobody waits for a turn
    const Lock lock(mutex_);
    changed_.notify_all();
}

uint64_t TicketQueue::enqueue(Job job) {
    const Lock lock(mutex_);
    if (!thread_.joinable()) {  // first: without a thread no number is drawn
        thread_ = start_thread("tutti-group", [this] { work(); });
    }
    queue_.emplace_back(0, std::move(job));
    const uint64_t ticket = next_++;
    queue_.back().first = ticket;
    changed_.notify_all();
    return ticket;
}

void TicketQueue::work() {
    Lock lock(mutex_);
    for (;;) {
        while (queue_.empty() ? !stopping_ : current_ != queue_.front().first) changed_.wait(lock);
        if (queue_.empty()) return;
        auto [ticket, job] = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        job(ticket);
        job = nullptr;
        pass();
        lock.lock();
    }
}

}  // namespace tutti
