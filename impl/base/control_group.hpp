// The limits that the control groups of this process, and those above them, set: of version 2 and
// of version 1, where they are usually mounted. Reads files at each call; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tutti {

struct MemoryRoom {
    uint64_t bytes = UINT64_MAX;  // that may still be taken; what only caches files counts as free
    uint64_t group = 0;           // that leaves no more, the same in all its processes; 0: none
};

// A limit of one of the groups.
struct GroupLimit {
    std::string group;  // its folder
    std::string name;   // the file of the limit: "pids.max"
    uint64_t most = 0;
    uint64_t taken = 0;
    bool has_refused = false;  // of processes: somebody since the group was made

    [[nodiscard]] uint64_t room() const { return most - (taken < most ? taken : most); }
};

// `root` stands before all paths.
MemoryRoom memory_room(const std::string& root = "");
// The limits that leave least; none: no group limits it.
std::optional<GroupLimit> process_limit(const std::string& root = "");
std::optional<GroupLimit> memory_limit(const std::string& root = "");
// Processors at a time; infinite: as many as there are.
double processor_quota(const std::string& root = "");

}  // namespace tutti
