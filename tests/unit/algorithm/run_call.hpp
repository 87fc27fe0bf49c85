// A collective over a channel, as a group runs it: lowered, then by the algorithms that suit it.
#pragma once

#include <utility>

#include "algorithm/algorithm.hpp"
#include "call/lower.hpp"
#include "support/collective.hpp"

namespace tutti::test {

inline void run_call(Channel& channel, Collective call, uint64_t number, const Deadline& deadline) {
    algorithm::run(channel, lower(std::move(call), channel.rank(), channel.size()), number,
                   deadline);
}

}  // namespace tutti::test
