#include "meeting.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "message/rings/ring.hpp"

namespace tutti::shm {

namespace {

// What every rank says, by rank; of one build of the library, so values travel as they are.
template <typename Value>
std::vector<Value> tell_all(Membership& membership, const char* key, const Value& mine,
                            const Deadline& deadline) {
    const std::string words(reinterpret_cast<const char*>(&mine), sizeof mine);
    const auto all = membership.tell_all(key, words, deadline);
    std::vector<Value> values(all.size());
    for (size_t rank = 0; rank < all.size(); ++rank) {
        if (all[rank].size() != sizeof(Value)) {
            throw Error(TUTTI_ERR_MISMATCH,
                        cat("rank ", rank, " has another version of the library"),
                        static_cast<int>(rank));
        }
        std::memcpy(&values[rank], all[rank].data(), sizeof(Value));
    }
    return values;
}

constexpr const char* hosts_variable = "TUTTI_HOSTS";
constexpr int64_t most_hosts = 1 << 20;

struct Card {
    Address address;  // of no host: there is none
    uint64_t place = 0;
    Processors processors;
    Ways ways;

    // Only ranks of one neighbourhood may see each other's memory.
    [[nodiscard]] bool is_near(const Card& other) const {
        return address.host != 0 && address.host == other.address.host && place == other.place;
    }
};

// What a rank says of the others, when it has tried.
struct Answer {
    std::array<uint64_t, most_ranks / 64> seen{};  // by place in the neighbourhood
    int32_t direct = 1;        // it may read all of the other memory of those it sees, too
    int32_t unseen = -1;       // the first rank that is not
    int32_t is_exhausted = 0;  // because this rank has no memory or descriptor for it
    std::array<char, 184> why{};

    void see(size_t place) { seen[place / 64] |= uint64_t{1} << place % 64; }
    [[nodiscard]] bool sees(size_t place) const {
        return (seen[place / 64] >> place % 64 & 1) != 0;
    }
    // An exhaustion counts for more than what came before: it is why others do not see this rank.
    void miss(int rank, const Status& reason) {
        const bool exhausts = reason.code == TUTTI_ERR_OUT_OF_MEMORY && is_exhausted == 0;
        if (unseen >= 0 && !exhausts) return;
        unseen = rank;
        is_exhausted = exhausts ? 1 : 0;
        why = {};
        reason.message.copy(why.data(), why.size() - 1);
    }
};

// A rank's part in collectives, then its rings, for as many ranks as may turn out to be its
// neighbours.
size_t segment_bytes(size_t ranks) {
    const auto neighbours = static_cast<int>(std::min(ranks, size_t{most_ranks}));
    return sizeof(Part) + message::most_rings_bytes(neighbours);
}

uint64_t place_of(int rank) {
    const std::optional<std::string> text = environment(hosts_variable);
    if (!text) return 0;
    std::vector<int64_t> places;
    std::istringstream list(*text + ",");
    for (std::string one; std::getline(list, one, ',');) {
        places.push_back(
            parse_number(one, cat("a number in the variable ", hosts_variable), 0, most_hosts));
    }
    return static_cast<uint64_t>(places[static_cast<size_t>(rank) % places.size()]);
}

// Where a rank is in its neighbourhood: of one host, and not more than a segment has room for.
struct Seat {
    size_t neighbourhood;
    size_t place;
};

std::vector<Seat> seats_of(const std::vector<Card>& cards) {
    std::vector<std::vector<size_t>> neighbourhoods;
    std::vector<Seat> seats;
    for (size_t rank = 0; rank < cards.size(); ++rank) {
        const auto found = std::ranges::find_if(neighbourhoods, [&](const auto& ranks) {
            return ranks.size() < size_t{most_ranks} && cards[ranks.front()].is_near(cards[rank]);
        });
        const auto index = static_cast<size_t>(found - neighbourhoods.begin());
        if (index == neighbourhoods.size()) neighbourhoods.emplace_back();
        auto& home = neighbourhoods[index];
        seats.push_back({index, home.size()});
        home.push_back(rank);
    }
    return seats;
}

const char* why_not_near(const Card& mine, const Card& theirs) {
    if (mine.address.host != theirs.address.host || mine.address.host == 0) {
        return "it is on another host, or in another container";
    }
    if (mine.place != theirs.place) return "TUTTI_HOSTS says that it is on another host";
    return "their host has too many ranks";
}

// One after the other, each rank joins the first host all of whose ranks it sees, and they it.
std::vector<std::vector<int>> hosts_of(const std::vector<Seat>& seats,
                                       const std::vector<Answer>& answers) {
    std::vector<std::vector<int>> hosts;
    const auto see_each_other = [&](size_t one, size_t other) {
        return seats[one].neighbourhood == seats[other].neighbourhood &&
               answers[one].sees(seats[other].place) && answers[other].sees(seats[one].place);
    };
    for (size_t rank = 0; rank < seats.size(); ++rank) {
        const auto home = std::ranges::find_if(hosts, [&](const auto& ranks) {
            return std::ranges::all_of(
                ranks, [&](int other) { return see_each_other(rank, static_cast<size_t>(other)); });
        });
        if (home == hosts.end()) {
            hosts.push_back({static_cast<int>(rank)});
        } else {
            home->push_back(static_cast<int>(rank));
        }
    }
    return hosts;
}

// The first rank that has no memory to map the others' or to make its own; -1: none.
int exhausted_rank(const std::vector<Answer>& answers) {
    const auto found =
        std::ranges::find_if(answers, [](const Answer& one) { return one.is_exhausted != 0; });
    return found == answers.end() ? -1 : static_cast<int>(found - answers.begin());
}

std::string why_not_all(const std::vector<Answer>& answers) {
    if (const int rank = exhausted_rank(answers); rank >= 0) {
        return cat("rank ", rank, ": ", answers[static_cast<size_t>(rank)].why.data());
    }
    for (size_t rank = 0; rank < answers.size(); ++rank) {
        if (answers[rank].unseen < 0) continue;
        return cat("rank ", rank, " does not see the memory of rank ", answers[rank].unseen, ": ",
                   answers[rank].why.data());
    }
    return {};
}

// Opens that rank's segment, if there is one to be seen.
void look(Answer& answer, const std::vector<Card>& cards, const std::vector<Seat>& seats,
          size_t own, size_t peer, std::optional<Segment>& segment) {
    if (peer == own && !segment) return;
    try {
        if (seats[peer].neighbourhood != seats[own].neighbourhood) {
            throw Error(TUTTI_ERR_UNSUPPORTED, why_not_near(cards[own], cards[peer]));
        }
        if (peer != own)
            segment.emplace(Segment::open(cards[peer].address, segment_bytes(cards.size()),
                                          Segment::Access::ReadWrite));
        answer.see(seats[peer].place);
        if (!segment->lets_read_memory()) answer.direct = 0;
    } catch (const Error& error) {
        answer.miss(static_cast<int>(peer), error.status());
    }
}

Met team_of(size_t own, const std::vector<std::vector<int>>& hosts, const std::vector<Card>& cards,
            const std::vector<Answer>& answers, std::vector<std::optional<Segment>>& segments) {
    Met met;
    met.members = *std::ranges::find_if(hosts, [&](const auto& ranks) {
        return std::ranges::find(ranks, static_cast<int>(own)) != ranks.end();
    });
    met.direct = true;
    met.ways = cards.front().ways;
    std::vector<Processors> processors;
    for (const int member : met.members) {
        const auto rank = static_cast<size_t>(member);
        if (segments[rank]) met.segments.push_back(std::move(*segments[rank]));
        processors.push_back(cards[rank].processors);
        met.direct = met.direct && answers[rank].direct != 0;
    }
    met.spins = spins_for(processors);
    return met;
}

}  // namespace

Meeting meet(Membership& membership, const Deadline& deadline) {
    const bool may_move = may_move_by_environment();
    const auto own = static_cast<size_t>(membership.rank());
    Answer answer;
    std::vector<std::optional<Segment>> segments(static_cast<size_t>(membership.size()));
    try {
        segments[own].emplace(Segment::make(segment_bytes(segments.size())));
    } catch (const Error& error) {
        answer.miss(membership.rank(), error.status());
    }
    const Card card{segments[own] ? segments[own]->address() : Address{},
                    place_of(membership.rank()), processors_of_this_process(),
                    ways_from_environment()};
    const auto cards = tell_all(membership, "shm/cards", card, deadline);
    const auto seats = seats_of(cards);
    for (size_t peer = 0; peer < seats.size(); ++peer) {
        look(answer, cards, seats, own, peer, segments[peer]);
    }
    const auto answers = tell_all(membership, "shm/answers", answer, deadline);
    Meeting meeting;
    meeting.hosts = hosts_of(seats, answers);
    meeting.why = why_not_all(answers);
    meeting.exhausted_rank = exhausted_rank(answers);
    if (segments[own]) segments[own]->close();
    meeting.here = team_of(own, meeting.hosts, cards, answers, segments);
    meeting.here.may_move = may_move;
    return meeting;
}

message::Neighbours neighbours(const Met& met) {
    message::Neighbours result{{}, met.ways[static_cast<size_t>(Op::Message)], met.spins};
    if (met.members.size() != met.segments.size()) return result;  // it is alone, without memory
    for (size_t place = 0; place < met.members.size(); ++place) {
        const Segment& segment = met.segments[place];
        result.ranks.push_back({met.members[place],
                                static_cast<std::byte*>(segment.data()) + sizeof(Part),
                                met.direct ? segment.address().process : 0});
    }
    return result;
}

}  // namespace tutti::shm
