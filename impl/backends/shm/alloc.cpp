// Every rank publishes how much it wants, makes it, publishes its location, maps the others', and
// publishes its success: the memory is shared if all succeed.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/plain.hpp"
#include "call/alloc.hpp"
#include "collectives.hpp"
#include "memory/demand.hpp"

namespace tutti::shm {

namespace {

struct Block {
    Address address;  // of no host: there is no memory
    uint64_t bytes = 0;
};
static_assert(sizeof(Block) <= Line::most);

// The values of all ranks, by rank.
template <Plain Value>
std::vector<Value> exchange(Team& team, const Value& mine) {
    const uint64_t step = team.take(1);
    copy(team.stage(step, sizeof mine), wire_bytes(mine));
    team.post(step);
    std::vector<Value> values(static_cast<size_t>(team.size()));
    for (int rank = 0; rank < team.size(); ++rank) {
        const ConstBytes bytes = team.await(rank, step, sizeof mine);
        std::memcpy(&values[static_cast<size_t>(rank)], bytes.data(), bytes.size());
    }
    team.finish(step, sizeof mine);
    return values;
}

// Nothing: this rank does not see that one's.
std::shared_ptr<Segment> open_part(const Team& team, int rank, const Block& block) {
    try {
        return std::make_shared<Segment>(
            Segment::open(block.address, block.bytes, Segment::Access::ReadOnly));
    } catch (const Error& error) {
        log(LogLevel::Warning, "no memory is shared: rank ", team.group_rank(rank), ": ",
            error.status().message);
        return nullptr;
    }
}

}  // namespace

void share(Team& team, const Alloc& call) {
    const auto& memory = call.outcome->memory;
    const Block mine = memory ? Block{memory->address(), memory->size()} : Block{};
    const std::vector<Block> blocks = exchange(team, mine);
    const auto without =
        std::ranges::find(blocks, 0U, [](const Block& block) { return block.address.host; });
    if (without != blocks.end()) {
        call.outcome->without = static_cast<int>(without - blocks.begin());
        return;
    }
    std::vector<std::shared_ptr<Segment>> parts;
    bool sees_all = true;
    for (int rank = 0; rank < team.size(); ++rank) {
        const bool is_mine = rank == team.rank();
        parts.push_back(is_mine ? memory
                                : open_part(team, rank, blocks[static_cast<size_t>(rank)]));
        sees_all = sees_all && parts.back() != nullptr;
    }
    const auto answers = exchange(team, uint64_t{sees_all});
    const bool all_see_all = std::ranges::find(answers, 0U) == answers.end();
    if (all_see_all) team.share(std::move(parts));
}

void alloc(Team& team, const Alloc& call) {
    if (call.refuse_excess(exchange(team, demand_of(call.bytes)))) return;
    call.make();
    share(team, call);
}

}  // namespace tutti::shm
