// The first failure of a node, as it is told to the other nodes and shown at the end. Any thread,
// no side effects.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/exit_status.hpp"

namespace tutti::launch {

struct Failure {
    int rank = -1;  // -1: the node as a whole, see message
    int local_rank = -1;
    int node = 0;
    std::string host;
    pid_t pid = -1;
    std::string program;  // empty: the only one of its node
    ExitStatus ending;
    int64_t time_us = 0;                  // since 1970, when it was seen
    std::string message;                  // what the program, or tuttirun, says of it; may be empty
    std::vector<std::string> last_lines;  // of standard error
};

int64_t now_us();  // since 1970

std::string encode(const Failure& failure);
// INVALID_ARGUMENT if `text` is none.
Failure decode_failure(const std::string& text);

// The index of the failure that caused the others: the earliest, where a death by signal counts as
// earlier than it was seen, for others may see it sooner than its own launcher.
std::optional<size_t> first_of(const std::vector<Failure>& failures);

// Lines without their ends: what a person wants to know of the first failure, or of a later one.
std::vector<std::string> report(bool is_first, const Failure& failure, int node_count);

}  // namespace tutti::launch
