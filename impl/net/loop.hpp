// A libuv loop on a thread of its own, and timers on it. All signals are blocked in that thread.
// What is made on a loop lives on its thread: make, use and destroy it there (post, run). Callbacks
// run there too and must not throw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

struct uv_loop_s;

namespace tutti::net {

class Watched;

class Loop {
public:
    explicit Loop(std::string thread_name);
    // Runs what was posted, closes what is still open, joins. Any thread but the loop's.
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    // One for all connections of this process that are not about data: made with the first that
    // wants it, ended with the last.
    static std::shared_ptr<Loop> shared();

    // Runs the task on the loop's thread, in order of posting. Any thread.
    void post(std::function<void()> task);
    // Posts, waits until the task has run, and rethrows what it threw. Any thread but the loop's.
    void run(std::function<void()> task);
    [[nodiscard]] bool on_thread() const;
    // Whether events may gather: the loop thread, when it is woken, does not push aside the thread
    // that sends, which would pay for it. Loop thread only.
    void let_gather(bool gather);

    // For net/ alone, loop thread only: the loop, and memory that a read may use until its
    // callback returns.
    [[nodiscard]] uv_loop_s* native();
    [[nodiscard]] std::span<std::byte> read_buffer();
    // Ends it when its line is dead.
    void watch(const std::shared_ptr<Watched>& connection);

private:
    struct State;
    std::unique_ptr<State> state_;
};

class Timer {
public:
    Timer(Loop& loop, std::function<void()> fired);
    ~Timer();  // stops; also from inside `fired`
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

    // First after `first_ms`, then every `repeat_ms` (0: once). A running timer starts anew.
    void start(int64_t first_ms, int64_t repeat_ms);
    void stop();

private:
    struct Core;
    std::shared_ptr<Core> core_;
};

}  // namespace tutti::net
