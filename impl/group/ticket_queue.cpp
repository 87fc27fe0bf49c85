#include "ticket_queue.hpp"

#include <algorithm>

#include "base/thread.hpp"

namespace tutti {

void TicketQueue::close() noexcept {
    std::thread thread;
    {
        const Lock lock(mutex_);
        stopping_ = true;
        changed_.notify_one();
        thread = std::move(thread_);
    }
    if (thread.joinable()) thread.join();
}

std::pair<uint64_t, bool> TicketQueue::take(const Deadline& deadline) {
    const uint64_t ticket = next_++;
    return {ticket, current_ == ticket || take(ticket, deadline)};
}

// Does what is in front, if nobody else is at it.
bool TicketQueue::take(uint64_t ticket, const Deadline& deadline) {
    run_up_to(ticket, deadline);
    Lock lock(mutex_);
    while (current_ != ticket) {
        if (!await_turn(lock, deadline)) return current_ == ticket;
    }
    return true;
}

void TicketQueue::run_up_to(uint64_t ticket, const Deadline& deadline) {
    Lock lock(mutex_);
    while (!queue_.empty() && queue_.front().ticket_ <= ticket) {
        const Job& first = queue_.front();
        if (first.begins_at_once_ || first.deadline_.when() > deadline.when()) {
            return hurry_up_to(ticket);
        }
        if (has_turn()) {
            auto job = take_first();
            const bool is_last = job->ticket_ == ticket;
            lock.unlock();
            run_in_turn(std::move(job));
            if (is_last) return;
            lock.lock();
        } else if (!await_turn(lock, deadline)) {
            return;
        }
    }
}

bool TicketQueue::await_turn(Lock& lock, const Deadline& deadline) {
    ++waiting_;
    const bool in_time = turn_.wait(lock, deadline);
    --waiting_;
    return in_time;
}

std::shared_ptr<TicketQueue::Job> TicketQueue::take_first() {
    return std::move(queue_.take_front().self_);
}

// Without the lock.
void TicketQueue::run_in_turn(std::shared_ptr<Job> job) noexcept {
    job->run(job->ticket_);
    job.reset();
    pass();
}

void TicketQueue::pass() noexcept {
    const uint64_t current = ++current_;
    if (next_ == current) return;  // nobody waits for a turn
    const Lock lock(mutex_);
    if (waiting_ > 0) turn_.notify_all();
    if (sleeps_ == Sleep::Turn) changed_.notify_one();
}

void TicketQueue::hurry(uint64_t ticket) noexcept {
    const Lock lock(mutex_);
    if (!queue_.empty() && queue_.front().ticket_ <= ticket) hurry_up_to(ticket);
}

void TicketQueue::hurry() noexcept {
    const Lock lock(mutex_);
    if (!queue_.empty()) hurry_up_to(last_);
}

void TicketQueue::hurry_up_to(uint64_t ticket) noexcept {
    if (ticket <= hurried_) return;
    hurried_ = ticket;
    if (sleeps_ != Sleep::Turn) changed_.notify_one();
}

uint64_t TicketQueue::enqueue(std::shared_ptr<Job> job, const Deadline& deadline, Start start) {
    const Lock lock(mutex_);
    if (!thread_.joinable()) {  // first: without a thread no number is drawn
        thread_ = start_thread("tutti-group", [this] { work(); });
    }
    Job& added = *job;
    added.deadline_ = deadline;
    added.begins_at_once_ = start == Start::AtOnce;
    added.self_ = std::move(job);
    queue_.push_back(added);
    const uint64_t ticket = last_ = added.ticket_ = next_++;
    has_new_ = true;
    if (start == Start::AtOnce || looks_.are_off()) {
        hurry_up_to(ticket);
    } else if (sleeps_ == Sleep::Post ||
               (start == Start::AfterFirstRest && looks_.shorten() && sleeps_ == Sleep::Look)) {
        changed_.notify_one();
    }
    return ticket;
}

// The group's thread. It begins jobs that it has seen before its last rest.
void TicketQueue::work() {
    Looks::make_timers_exact();
    Lock lock(mutex_);
    for (uint64_t left_alone = 0;;) {
        const bool begins =
            has_turn() && (stopping_ || queue_.front().ticket_ <= std::max(left_alone, hurried_));
        const uint64_t last = last_;
        if (begins) {
            looks_.found_something();
            auto job = take_first();
            lock.unlock();
            run_in_turn(std::move(job));
            lock.lock();
        } else if (stopping_ && queue_.empty()) {
            return;
        } else if (!rest(lock)) {
            continue;
        }
        left_alone = std::max(left_alone, last);
    }
}

// False: it waited for a turn, which says nothing about how long jobs have been left alone.
bool TicketQueue::rest(Lock& lock) {
    const bool waits_for_turn = !queue_.empty() && !has_turn();
    const bool is_busy = std::exchange(has_new_, false) || !queue_.empty();
    const auto until_look = looks_.next(is_busy);
    if (waits_for_turn || (!until_look && queue_.empty())) {
        sleeps_ = waits_for_turn ? Sleep::Turn : Sleep::Post;
        changed_.wait(lock);
    } else {
        sleeps_ = Sleep::Look;
        const auto now = Deadline::Clock::now();
        changed_.wait(lock, Deadline::at(now + until_look.value_or(Looks::Rest::zero())));
    }
    sleeps_ = Sleep::None;
    return !waits_for_turn;
}

}  // namespace tutti
