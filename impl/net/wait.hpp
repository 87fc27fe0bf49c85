// poll(2) with a Deadline and a cancel descriptor: private to net/. Any thread.
#pragma once

#include "base/deadline.hpp"

namespace tutti::net {

enum class Waited { Ready, Expired, Cancelled };

// Waits until `fd` has `events`, an error or a hang-up. `fd` -1 waits for the deadline alone.
Waited wait_descriptor(int fd, short events, const Deadline& deadline, int cancel_fd);

}  // namespace tutti::net
