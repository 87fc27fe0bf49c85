// Starting a child process: pipes, fork, exec. Main thread of the launcher.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "net/descriptor.hpp"
#include "processors.hpp"

namespace tutti::launch {

// The program, not the job, is at fault.
class CannotRun : public Error {
    using Error::Error;
};

struct Process {
    pid_t pid = -1;
    net::Descriptor out;  // read ends, non-blocking
    net::Descriptor err;
};

// A program as exec takes it.
struct Executable {
    std::string path;
    std::vector<std::string> arguments;  // with the first, its name
};

// The file that `name` stands for, as a shell finds it: in PATH if it has no slash. CannotRun if
// there is none that may be executed.
std::string find_program(const std::string& name);

// Runs the program in a process group of its own, with `input` as its standard input, default
// signals and piped output, on these processors unless there are none. It dies with the calling
// thread. CannotRun if exec fails, an Error if the system has no room for it or does not bind it.
Process start_process(const Executable& program, const std::vector<std::string>& environment,
                      int input, const ProcessorSet& processors);

// SIGTERM to each process of that group that does not handle it: one that was just being started
// when the group got it may have missed it.
void end_who_missed_the_signal(pid_t group);

}  // namespace tutti::launch
