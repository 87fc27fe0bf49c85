// A group and a call, from the words of a record. Any thread.
#pragma once

#include "copies.hpp"
#include "recording.hpp"

namespace tutti::trace {

constexpr int max_group_size = 1 << 20;

// -1 for what is no rank.
int rank_from(uint64_t word);

// `own_global`: this rank in the first group.
Group parse_group(const View& slot, const Scale& scale, int own_global);
Call parse_call(const View& entry, uint64_t id_and_state, const Scale& scale);

}  // namespace tutti::trace
