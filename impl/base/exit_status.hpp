// The end of a process, in words and as an exit code, and whether it is about to come. Any thread.
#pragma once

#include <sys/types.h>

#include <string>

namespace tutti {

struct ExitStatus {
    bool by_signal = false;
    int number = 0;  // exit code, or signal
    bool core_dumped = false;

    [[nodiscard]] bool failed() const { return by_signal || number != 0; }
    // As a shell reports it: 128 + signal.
    [[nodiscard]] int exit_code() const { return by_signal ? 128 + number : number; }
};

// "exited with code 3", "was killed by signal 9 (SIGKILL)".
std::string describe(const ExitStatus& ending);

// "signal 9 (SIGKILL)".
std::string signal_text(int number);

// Whether a child has begun to end, although it cannot be waited for yet: it closes its connections
// a moment before its parent can see it dead.
bool is_exiting(pid_t child);

}  // namespace tutti
