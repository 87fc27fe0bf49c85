// Memory of tutti_memory_alloc: a step of a group, after which every rank has some or none has. The
// caller's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/deadline.hpp"
#include "call/alloc.hpp"
#include "core.hpp"

namespace tutti {

class Group;

// All ranks learn whether each of them has its memory. Throws OUT_OF_MEMORY if one has none.
Alloc::Outcome run_alloc(Group& group, const Alloc& call, int64_t timeout_ms);

// Memory of the CPU, zeroed, which HeldMemory keeps until it is released there; never null.
std::shared_ptr<shm::Segment> alloc_memory(Group& group, size_t bytes, int64_t timeout_ms);

// In the turn of that call: all ranks say which memory of a backend they have. If it is alike, the
// backend that has given it shares it.
void share_memory(GroupCore& group, const Alloc& call, uint64_t sequence, const Deadline& until);

}  // namespace tutti
