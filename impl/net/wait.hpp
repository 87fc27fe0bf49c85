// poll(2) with a Deadline. Any thread.
#pragma once

#include <span>
#include <string>

#include "base/deadline.hpp"

namespace tutti::net {

enum class Waited { Ready, Expired, Cancelled };

// Until `fd` has input, a signal or the deadline.
void await_input(int fd, const Deadline& deadline) noexcept;

// Waits until `fd` has `events`, an error or a hang-up. `fd` -1 waits for the deadline alone.
Waited wait_descriptor(int fd, short events, const Deadline& deadline, int cancel_fd);
// The same for any of several.
Waited wait_descriptors(std::span<const int> fds, short events, const Deadline& deadline,
                        int cancel_fd);
// Ends a wait that was cancelled: throws ABORTED.
[[noreturn]] void fail_cancelled(const std::string& what);

}  // namespace tutti::net
