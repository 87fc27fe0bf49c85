// Every rank publishes how much it wants, makes it, publishes its location, maps the others', and
// publishes its success: the memory is shared if all succeed.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/control_group.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/plain.hpp"
#include "call/alloc.hpp"
#include "collectives.hpp"

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

struct Wish {
    uint64_t bytes;
    uint64_t available;  // to all ranks of the host
    uint64_t room;       // for all processes of
    uint64_t group;      // this control group; 0: of no group
};

// Unless it has been, or they do not want more than is available where they are.
void refuse_excess(const Team& team, const Alloc& call, const std::vector<Wish>& wishes,
                   const char* where, uint64_t available) {
    uint64_t all = 0;
    for (const Wish& wish : wishes) all += std::min(wish.bytes, UINT64_MAX - all);
    if (all <= available || call.outcome->without >= 0) return;
    const auto most = std::ranges::max_element(wishes, {}, &Wish::bytes);
    call.outcome->without = static_cast<int>(most - wishes.begin());
    call.refuse({TUTTI_ERR_OUT_OF_MEMORY, -1, ENOMEM,
                 cat("the ranks of ", where, " want ", all, " bytes, of them rank ",
                     team.group_rank(call.outcome->without), " ", most->bytes, ", and ", available,
                     " are available")});
}

}  // namespace

void refuse_excess(Team& team, const Alloc& call) {
    const MemoryRoom room = memory_room();
    const auto wishes =
        exchange(team, Wish{call.bytes, available_memory(), room.bytes, room.group});
    refuse_excess(team, call, wishes, "this host",
                  std::ranges::min(wishes, {}, &Wish::available).available);
    for (const Wish& one : wishes) {
        std::vector<Wish> of_group = wishes;
        for (Wish& wish : of_group) {
            if (wish.group != one.group) wish.bytes = 0;
        }
        if (one.group != 0) refuse_excess(team, call, of_group, "one control group", one.room);
    }
}

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
    refuse_excess(team, call);
    if (call.outcome->without >= 0) return;  // all ranks know, whereas only one knows why_not
    call.make();
    share(team, call);
}

}  // namespace tutti::shm
