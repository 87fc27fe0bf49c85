// Child processes as a set: forking them, knowing when they end, ending them. Private to spawn/.
// Other children of the program are none of our business: nothing here waits for "any child".
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <vector>

#include "base/deadline.hpp"
#include "base/exit_status.hpp"
#include "net/descriptor.hpp"

namespace tutti::spawn {

struct Child {
    pid_t pid = -1;
    net::Descriptor handle;  // readable when it has ended; none if the system has no such thing
    bool alive = true;
    // Nothing if the program does not let us know: it ignores SIGCHLD, or waits for all children.
    std::optional<ExitStatus> ending = {};
    int64_t ended_ns = 0;  // when it was seen, by the monotonic clock
};

class Children {
public:
    Children() = default;
    ~Children();  // kills who still lives
    Children(const Children&) = delete;
    Children& operator=(const Children&) = delete;

    // `run` never returns; it is called in the child, which dies with the calling thread.
    void add(const std::function<void()>& run);
    // Waits for an end, and takes note of all that have ended; false if the deadline passed.
    bool wait(const Deadline& deadline);
    // To all who live; it wakes those who are stopped.
    void send(int signal) noexcept;

    [[nodiscard]] const std::vector<Child>& all() const { return all_; }
    [[nodiscard]] bool anyone_alive() const;

private:
    [[nodiscard]] bool collect_told(const Deadline& deadline);
    [[nodiscard]] bool collect_seen() noexcept;
    void collect(Child& child) noexcept;

    std::vector<Child> all_;
};

int64_t monotonic_ns();

}  // namespace tutti::spawn
