// Ranks only exchange whether they have memory: over a channel none sees another one's.
#include "call/alloc.hpp"

#include "algorithm.hpp"
#include "base/plain.hpp"

namespace tutti::algorithm {

void alloc(Exchange& exchange, const Alloc& call) {
    call.make();
    std::vector<uint32_t> has(static_cast<size_t>(exchange.size()));
    const uint32_t own = call.outcome->memory ? 1 : 0;
    std::vector<Bytes> parts;
    for (uint32_t& one : has) parts.push_back(std::as_writable_bytes(std::span(&one, 1)));
    all_gather(exchange, wire_bytes(own), parts);
    const auto without = std::ranges::find(has, 0U);
    if (without != has.end()) call.outcome->without = static_cast<int>(without - has.begin());
}

void alloc_alone(const Alloc& call) {
    call.make();
    if (!call.outcome->memory) call.outcome->without = 0;
}

}  // namespace tutti::algorithm
