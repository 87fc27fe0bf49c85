// The processes that a launcher starts, and the environment of each. Any thread, no side effects.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "options.hpp"

namespace tutti::launch {

// The ranks of a program, which follow each other on their node.
struct ProgramRanks {
    std::string role = "default";
    int count = 1;
};

// A node, as all nodes know it.
struct Node {
    std::string host;
    std::vector<ProgramRanks> programs;
};

int local_size(const Node& node);

// A job at one of its attempts, seen from one of its nodes.
struct Placement {
    std::vector<Node> nodes;  // by rank
    int node_rank = 0;
    std::string master_addr;  // of the workers' store
    int master_port = 0;
    std::string run_id = "none";
    int attempt = 0;
    int max_restarts = 0;
    std::string record_dir;  // of the flight recorders on this node; empty: there is none
};

struct WorkerPlan {
    int rank = 0;
    int local_rank = 0;
    size_t program = 0;                    // index of the node's programs
    std::string folder;                    // of log and error files; empty: there is none
    std::vector<std::string> environment;  // "NAME=value", complete
};

// `inherited` is the launcher's own environment, `folders` has one for each local rank.
std::vector<WorkerPlan> plan_workers(const Placement& placement,
                                     std::span<const char* const> inherited,
                                     const std::vector<std::string>& folders);

}  // namespace tutti::launch
