// Every rank shows where its memory is, maps the others', and says whether it could: the memory is
// shared if all could.
#include <array>
#include <cstring>
#include <optional>

#include "base/error.hpp"
#include "base/log.hpp"
#include "collectives.hpp"

namespace tutti::shm {

namespace {

struct Block {
    Address address;  // of no host: there is no memory
    uint64_t bytes = 0;
};
static_assert(sizeof(Block) <= Line::most);

// What every rank has to say, by rank.
template <typename Word>
std::vector<Word> tell_team(Team& team, const Word& mine) {
    const uint64_t step = team.take(1);
    std::memcpy(team.stage(step, sizeof mine).data(), &mine, sizeof mine);
    team.post(step);
    std::vector<Word> words(static_cast<size_t>(team.size()));
    for (int rank = 0; rank < team.size(); ++rank) {
        const ConstBytes word = team.await(rank, step, sizeof mine);
        std::memcpy(&words[static_cast<size_t>(rank)], word.data(), word.size());
    }
    team.finish(step, sizeof mine);
    return words;
}

// Nothing: this rank does not see that one's.
std::shared_ptr<Segment> open_part(const Team& team, int rank, const Block& block) {
    try {
        return std::make_shared<Segment>(Segment::open(block.address, block.bytes));
    } catch (const Error& error) {
        log(LogLevel::Warning, "no memory is shared: rank ", team.group_rank(rank), ": ",
            error.status().message);
        return nullptr;
    }
}

}  // namespace

void alloc(Team& team, const Alloc& call) {
    const Block mine = call.memory ? Block{call.memory->address(), call.memory->size()} : Block{};
    const std::vector<Block> blocks = tell_team(team, mine);
    const auto without =
        std::ranges::find_if(blocks, [](const Block& block) { return block.address.host == 0; });
    if (without != blocks.end()) {
        *call.without = static_cast<int>(without - blocks.begin());
        return;
    }
    std::vector<std::shared_ptr<Segment>> parts;
    bool sees_all = true;
    for (int rank = 0; rank < team.size(); ++rank) {
        const bool is_mine = rank == team.rank();
        parts.push_back(is_mine ? call.memory
                                : open_part(team, rank, blocks[static_cast<size_t>(rank)]));
        sees_all = sees_all && parts.back() != nullptr;
    }
    const auto answers = tell_team(team, uint64_t{sees_all});
    const bool all_see_all = std::ranges::find(answers, 0U) == answers.end();
    if (all_see_all) team.share(std::move(parts));
}

}  // namespace tutti::shm
