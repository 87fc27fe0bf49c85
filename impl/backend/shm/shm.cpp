// Meeting: every rank makes its segment and tells the others where it is; they map it, and tell
// whether they could. Then nobody else can open it any more.
#include "shm.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "backend/algorithm/tell_all.hpp"
#include "backend/channel_backend.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "collectives.hpp"

namespace tutti::shm {

namespace {

using algorithm::tell_all;

struct Card {
    Address address;
    Processors processors;
    Ways ways;
};

// Whether a rank sees all others' memory.
struct Answer {
    int32_t unseen = -1;
    int32_t direct = 0;  // it may read all of the others' other memory, too
    std::array<char, 248> why{};
};

Answer failed(int peer, const Error& error) {
    Answer answer{peer, 0, {}};
    const std::string& text = error.status().message;
    text.copy(answer.why.data(), answer.why.size() - 1);
    return answer;
}

// Nothing if some rank does not see another one's memory; `why` says which, the same on all ranks.
std::optional<Met> meet(Channel& channel, std::string& why, const Deadline& deadline) {
    Answer answer;
    std::vector<Segment> segments;
    std::optional<Segment> mine;
    try {
        mine.emplace(Segment::make(sizeof(Part)));
    } catch (const Error& error) {
        answer = failed(channel.rank(), error);
    }
    const Card card{mine ? mine->address() : Address{}, processors_of_this_process(),
                    ways_from_environment()};
    const auto cards = tell_all(channel, 0, card, deadline);
    for (int peer = 0; peer < channel.size() && answer.unseen < 0; ++peer) {
        try {
            segments.push_back(
                peer == channel.rank()
                    ? std::move(*mine)
                    : Segment::open(cards[static_cast<size_t>(peer)].address, sizeof(Part)));
        } catch (const Error& error) {
            answer = failed(peer, error);
        }
    }
    if (answer.unseen < 0) {
        answer.direct = std::ranges::all_of(segments, &Segment::lets_read_memory) ? 1 : 0;
    }
    const auto answers = tell_all(channel, 1, answer, deadline);
    for (int rank = 0; rank < channel.size(); ++rank) {
        const Answer& one = answers[static_cast<size_t>(rank)];
        if (one.unseen < 0) continue;
        why = cat("rank ", rank, " does not see the memory of rank ", one.unseen, ": ",
                  one.why.data());
        return std::nullopt;
    }
    segments[static_cast<size_t>(channel.rank())].close();
    std::vector<Processors> processors;
    for (const Card& one : cards) processors.push_back(one.processors);
    const bool direct = std::ranges::all_of(answers, [](const Answer& one) { return one.direct; });
    return Met{std::move(segments), spins_for(processors), direct, cards.front().ways};
}

class ShmBackend : public ChannelBackend {
public:
    ShmBackend(std::unique_ptr<Channel> channel, Met met, const Deadline& deadline)
        : ChannelBackend(std::move(channel)), team_(std::move(met), this->channel()) {
        this->channel().set_comparison([this] { team_.compare(); });
        // All have met once all are here: who fails then fails nobody else's meeting.
        team_.begin(fingerprint(Barrier{}), 0, deadline);
        barrier(team_);
    }

    [[nodiscard]] const char* name() const override { return "shm"; }
    [[nodiscard]] bool same_host(int /*peer*/) const override { return true; }
    [[nodiscard]] bool same_memory() const override { return true; }

    void run(const Collective& call, uint64_t number, const Deadline& deadline) override {
        if (team_.size() == 1 || channel().compares_first()) {
            return ChannelBackend::run(call, number, deadline);
        }
        team_.begin(fingerprint(call), number, deadline);
        if (!serves(call)) return ChannelBackend::run(call, number, deadline);
        try {
            shm::run(team_, call);
        } catch (...) {
            team_.withdraw();
            throw;
        }
    }

    std::unique_ptr<Backend> branch(const Branch& branch) override {
        return connect(channel().branch(branch), false, branch.deadline);
    }

private:
    Team team_;
};

}  // namespace

std::unique_ptr<Backend> connect(std::unique_ptr<Channel> channel, bool required,
                                 const Deadline& deadline) {
    std::string why = cat("more than ", most_ranks, " ranks");
    std::optional<Met> met;
    if (channel->size() <= most_ranks) met = meet(*channel, why, deadline);
    if (met) return std::make_unique<ShmBackend>(std::move(channel), std::move(*met), deadline);
    if (required)
        throw Error(TUTTI_ERR_UNSUPPORTED, cat("backend shm joins ranks of one host: ", why));
    log(LogLevel::Info, "no shared memory: ", why);
    return std::make_unique<ChannelBackend>(std::move(channel));
}

}  // namespace tutti::shm
