// What every rank must know of all others before their first collective. On the thread that makes
// the group; throws what Exchange throws.
#pragma once

#include <vector>

#include "algorithm.hpp"

namespace tutti::algorithm {

// The same of every rank, in the order of the ranks. Each step of the group has a number of its
// own.
template <typename Value>
std::vector<Value> tell_all(Channel& channel, uint32_t step, const Value& mine,
                            const Deadline& deadline) {
    std::vector<Value> all(static_cast<size_t>(channel.size()));
    const auto bytes = static_cast<int64_t>(sizeof(Value));
    const AllGatherIntoTensor call{{&mine, bytes, TUTTI_UINT8},
                                   {all.data(), bytes * channel.size(), TUTTI_UINT8}};
    if (channel.size() == 1) {
        run_alone(call);
        return all;
    }
    Exchange exchange(channel, fingerprint(call), 0, deadline, {step, fingerprint(call)});
    run(exchange, call);
    return all;
}

}  // namespace tutti::algorithm
