// A rank's process, as its supervisor sees it. Main thread of the launcher.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/exit_status.hpp"
#include "failure.hpp"
#include "output.hpp"

namespace tutti::launch {

struct Worker {
    int rank;
    int local_rank;
    std::string program;  // as it stands on the command line
    pid_t pid;
    LineReader out;
    LineReader err;
    std::string folder;  // of its error file
    bool alive = true;
    bool leaves = false;                 // it has ended, others of its process group have not
    Deadline limit = Deadline::never();  // when those are killed, or no longer waited for
    bool is_killed = false;              // those
    bool is_told = false;                // its failure has been said
    int stopped_by = 0;                  // signal, or 0
    std::vector<int> passed = {};        // signals it had from us
    std::optional<ExitStatus> ending = {};
    int64_t ended_us = 0;  // since 1970
};

std::string name(const Worker& worker);
// A signal of ours has ended it.
bool is_ended_by_us(const Worker& worker);
// The worker has failed; node and host are not set.
Failure failure_of(const Worker& worker);

}  // namespace tutti::launch
