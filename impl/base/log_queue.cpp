#include "log_queue.hpp"

#include <pthread.h>

#include "error.hpp"
#include "thread.hpp"

namespace tutti {

bool LogQueue::add(LogLevel level, const std::string& text) {
    const Lock lock(mutex_);
    if (!listener_) return false;
    if (lines_.size() >= max_waiting) {
        ++dropped_;
        return true;
    }
    if (dropped_ > 0) {
        lines_.emplace_back(LogLevel::Warning,
                            cat("log: ", dropped_, " lines were dropped here, for they came ",
                                "faster than the callback took them"));
        dropped_ = 0;
    }
    lines_.emplace_back(level, text);
    changed_.notify_all();
    return true;
}

void LogQueue::set_listener(LogListener listener) {
    Lock lock(mutex_);
    if (running_ && pthread_equal(thread_, pthread_self()) != 0) {
        listener_ = std::move(listener);
        return;
    }
    while (end_ != no_end) changed_.wait(lock);  // of another who sets one
    if (listener_) {
        end_ = taken_ + lines_.size();
        while (delivered_ < end_) changed_.wait(lock);
        end_ = no_end;
    }
    if (listener && !running_) start();
    listener_ = std::move(listener);
    changed_.notify_all();
    while (!listener_ && running_) changed_.wait(lock);
}

bool LogQueue::is_listened_to() {
    const Lock lock(mutex_);
    return static_cast<bool>(listener_);
}

void LogQueue::start() {
    const SignalsBlocked blocked;
    const auto body = [](void* queue) -> void* {
        static_cast<LogQueue*>(queue)->run();
        return nullptr;
    };
    if (const int number = pthread_create(&thread_, nullptr, body, this); number != 0) {
        throw Error(TUTTI_ERR_OUT_OF_MEMORY,
                    cat("no thread can be started for the log: ", errno_text(number)), -1, number);
    }
    pthread_detach(thread_);
    running_ = true;
}

void LogQueue::run() noexcept {
    pthread_setname_np(pthread_self(), "tutti-log");
    Lock lock(mutex_);
    for (;;) {
        while (listener_ && (lines_.empty() || taken_ >= end_)) changed_.wait(lock);
        if (!listener_) break;
        const auto [level, text] = std::move(lines_.front());
        lines_.pop_front();
        ++taken_;
        const LogListener listener = listener_;
        lock.unlock();
        try {
            listener(level, text);
        } catch (...) {  // a log line is never worth a failure
        }
        lock.lock();
        ++delivered_;
        changed_.notify_all();
    }
    taken_ += lines_.size();  // what came last, with nobody to hear it
    delivered_ = taken_;
    lines_.clear();
    running_ = false;
    changed_.notify_all();
}

LogQueue& log_queue() {
    static LogQueue& queue = *new LogQueue;
    return queue;
}

}  // namespace tutti
