// A rank's process in words. Main thread of the launcher.
#include "worker.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "error_file.hpp"
#include "logs.hpp"

namespace tutti::launch {

std::string name(const Worker& worker) {
    return cat("rank ", worker.rank, " (pid ", static_cast<int>(worker.pid), ")");
}

bool is_ended_by_us(const Worker& worker) {
    const ExitStatus& ending = *worker.ending;
    return ending.by_signal &&
           std::ranges::find(worker.passed, ending.number) != worker.passed.end();
}

Failure failure_of(const Worker& worker) {
    Failure failure;
    failure.rank = worker.rank;
    failure.local_rank = worker.local_rank;
    failure.pid = worker.pid;
    failure.ending = *worker.ending;
    failure.time_us = worker.ended_us;
    if (!worker.folder.empty()) failure.message = read_error_file(error_file_in(worker.folder));
    const auto& lines = worker.err.last_lines();
    failure.last_lines.assign(lines.begin(), lines.end());
    return failure;
}

}  // namespace tutti::launch
