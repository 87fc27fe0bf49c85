// Operations that move on only when a thread polls: the one that waits for them. Any thread.
#pragma once

#include <memory>
#include <vector>

#include "base/deadline.hpp"

namespace tutti {

class Progress {
public:
    virtual ~Progress() = default;
    // Moves on what can move; true if anything did. Returns at once, false, while another thread is
    // at it. Ends works; nobody who calls it holds a lock.
    virtual bool poll() noexcept = 0;
    // Around the polls of a thread that waits: as long as there is one, nobody else needs to poll.
    virtual void begin_waiting() noexcept {}
    virtual void end_waiting() noexcept {}

protected:
    Progress() = default;
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
};

// The rests between polls: none at first, then longer ones the longer nothing moves. One thread.
class Backoff {
public:
    void reset() noexcept { fruitless_ = 0; }
    // After a poll in which nothing moved. True: rest until `until` at the most, then poll again.
    bool rests(Deadline& until) noexcept;

private:
    int fruitless_ = 0;
};

// A thread that waits for operations of some Progress objects, which may be named repeatedly.
class PollingWait {
public:
    explicit PollingWait(std::vector<std::shared_ptr<Progress>> all);
    ~PollingWait();
    PollingWait(const PollingWait&) = delete;
    PollingWait& operator=(const PollingWait&) = delete;

    // Whether nothing needs polling.
    [[nodiscard]] bool empty() const { return all_.empty(); }
    // Polls each once. True: look whether the wait is over, else rest until `until` at the most.
    bool poll(Deadline& until) noexcept;

private:
    std::vector<std::shared_ptr<Progress>> all_;
    Backoff backoff_;
};

}  // namespace tutti
