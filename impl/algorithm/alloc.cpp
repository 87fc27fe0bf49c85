// Ranks only exchange what they want and whether they have it: over a channel none sees another's
// memory.
#include "call/alloc.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "algorithm.hpp"
#include "base/plain.hpp"
#include "memory/demand.hpp"

namespace tutti::algorithm {

namespace {

// The values of all ranks, by rank.
template <Plain Value>
std::vector<Value> exchange_values(Exchange& exchange, const Value& mine) {
    std::vector<Value> values(static_cast<size_t>(exchange.size()));
    std::vector<Bytes> parts;
    for (Value& one : values) parts.push_back(std::as_writable_bytes(std::span(&one, 1)));
    all_gather(exchange, wire_bytes(mine), parts);
    return values;
}

}  // namespace

void alloc(Exchange& exchange, const Alloc& call) {
    if (call.refuse_excess(exchange_values(exchange, shm::demand_of(call.bytes)))) return;
    call.make();
    const auto has = exchange_values(exchange, uint32_t{call.outcome->memory ? 1U : 0U});
    const auto without = std::ranges::find(has, 0U);
    if (without != has.end()) call.outcome->without = static_cast<int>(without - has.begin());
}

void alloc_alone(const Alloc& call) {
    call.make();
    if (!call.outcome->memory) call.outcome->without = 0;
}

}  // namespace tutti::algorithm
