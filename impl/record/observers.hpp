// Observers are told of every operation of this process: before it moves anything, and when it has
// ended, well or not. An operation has the observers that there were when it was made. Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "operation.hpp"

namespace tutti::record {

class Observer {
public:
    virtual ~Observer() = default;
    // In its turn, on the thread that runs it. What it throws becomes the operation's failure.
    virtual void before(const Operation& /*operation*/) {}
    // One of these, if before() was called; on any thread.
    virtual void after(const Operation& /*operation*/) noexcept {}
    virtual void aborted(const Operation& /*operation*/, const Status& /*why*/) noexcept {}

protected:
    Observer() = default;
    Observer(const Observer&) = default;
    Observer& operator=(const Observer&) = default;
};

using Observers = std::vector<std::shared_ptr<Observer>>;

inline constinit std::atomic<int> observer_count{0};

void add_observer(std::shared_ptr<Observer> observer);
// Operations that have it already may still call it.
void remove_observer(const Observer& observer) noexcept;

// An operation and who watches it.
class Watched {
public:
    explicit Watched(Operation operation);
    // Without an end: aborted.
    ~Watched();
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

    void begin(uint64_t sequence);
    void end(const Status& status) noexcept;
    [[nodiscard]] const std::string& tag() const { return operation_.tag; }

private:
    Operation operation_;
    std::shared_ptr<const Observers> observers_;  // null: nobody, it has only a tag
    size_t begun_ = 0;                            // of them
};

}  // namespace tutti::record
