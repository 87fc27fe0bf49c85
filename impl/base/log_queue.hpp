// Log lines on their way to a listener: queued by any thread, perhaps under locks of its own, and
// delivered by one thread, tutti-log, which lives as long as there is a listener.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "log.hpp"
#include "mutex.hpp"

namespace tutti {

class LogQueue {
public:
    // False if there is no listener.
    bool add(LogLevel level, const std::string& text);
    // As set_log_listener(). Throws OUT_OF_MEMORY if no thread can be started.
    void set_listener(LogListener listener);
    [[nodiscard]] bool is_listened_to();

private:
    static constexpr size_t max_waiting = 10'000;  // what comes beyond is counted and dropped
    static constexpr uint64_t no_end = UINT64_MAX;

    void start() TUTTI_REQUIRES(mutex_);
    void run() noexcept;

    Mutex mutex_;
    Condition changed_;
    LogListener listener_ TUTTI_GUARDED_BY(mutex_);
    std::deque<std::pair<LogLevel, std::string>> lines_ TUTTI_GUARDED_BY(mutex_);
    uint64_t taken_ TUTTI_GUARDED_BY(mutex_) = 0;      // out of lines_, so far
    uint64_t delivered_ TUTTI_GUARDED_BY(mutex_) = 0;  // of those, what the listener has heard
    uint64_t dropped_ TUTTI_GUARDED_BY(mutex_) = 0;    // since the last line that found room
    // Set while a listener is replaced: the previous one hears lines up to this number and no more.
    uint64_t end_ TUTTI_GUARDED_BY(mutex_) = no_end;
    bool running_ TUTTI_GUARDED_BY(mutex_) = false;
    pthread_t thread_ TUTTI_GUARDED_BY(mutex_){};
};

// Never destroyed: its thread may be in it until the very end of the process.
LogQueue& log_queue();

}  // namespace tutti
