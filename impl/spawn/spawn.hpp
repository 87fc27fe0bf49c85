// A function in new processes: forks them, watches them, and ends all when one fails. The thread
// that makes a Spawn is the one the children die with; watching may be another's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/deadline.hpp"
#include "base/status.hpp"

namespace tutti::spawn {

// More is a typing error.
constexpr int max_processes = 4'096;

struct Plan {
    int count = 1;
    // Tell the children their place by torchrun's variables, and serve a store for them.
    bool environment = true;
    int64_t grace_ms = 5'000;  // from SIGTERM to SIGKILL, when children are ended
    // In the child, in this order: makes the process one that may use tutti; the user's function.
    std::function<void()> enter;
    std::function<Status(int rank)> body;
};

class Spawn {
public:
    // Starts all or none. Needs a process in which nothing of tutti runs.
    explicit Spawn(const Plan& plan);
    // Kills the children that still run.
    ~Spawn();
    Spawn(const Spawn&) = delete;
    Spawn& operator=(const Spawn&) = delete;

    // Waits for all. The Status of the first failure, its rank and what is known of its end; the
    // others have been ended then. TIMEOUT if the deadline passed first: all have been ended.
    Status wait(const Deadline& deadline);

private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace tutti::spawn
