// A process that outlives the launcher when that is killed, and then kills what is left of the
// ranks: the kernel ends the launcher's own children with it, but not theirs, the programs below a
// shell script. Main thread of the launcher.
#pragma once

#include <sys/types.h>

#include "net/descriptor.hpp"

namespace tutti::launch {

class Guard {
public:
    // Forks. An Error if the system has no room for it.
    Guard();
    // Waits for the end of that process.
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

    // The process groups to kill.
    void add(pid_t group) const;
    void remove(pid_t group) const;

private:
    net::Descriptor line_;  // its end tells the other process
    pid_t child_ = -1;
};

}  // namespace tutti::launch
