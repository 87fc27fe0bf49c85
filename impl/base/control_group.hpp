// The limits that the control groups of this process, and those above them, set: of version 2 and
// of version 1, where they are usually mounted. Reads files at each call; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace tutti {

struct MemoryRoom {
    uint64_t bytes = UINT64_MAX;  // that may still be taken; what only caches files counts as free
    uint64_t group = 0;           // that leaves no more, the same in all its processes; 0: none
};

// `root` stands before all paths.
MemoryRoom memory_room(const std::string& root = "");
// Processors at a time; infinite: as many as there are.
double processor_quota(const std::string& root = "");

}  // namespace tutti
