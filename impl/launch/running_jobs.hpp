// The jobs that run on this host, as /proc shows them: every tuttirun of this user that has living
// ranks. Any thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

namespace tutti::launch {

struct RunningRank {
    int rank = 0;
    pid_t process = 0;  // of the program that uses tutti, which may be below a script
};

struct RunningJob {
    pid_t launcher = 0;
    std::vector<RunningRank> ranks;  // of this host, ascending
};

std::vector<RunningJob> find_running_jobs();

// The job of that tuttirun, or, without one, the only job. Throws INVALID_ARGUMENT.
RunningJob choose_job(std::optional<pid_t> launcher);
// Its process of that rank. Throws INVALID_ARGUMENT, naming the ranks that there are.
RunningRank choose_rank(const RunningJob& job, int rank);

}  // namespace tutti::launch
