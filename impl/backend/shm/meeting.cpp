#include "meeting.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <utility>

#include "backend/algorithm/tell_all.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "mailbox.hpp"

namespace tutti::shm {

namespace {

using algorithm::tell_all;

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
    int32_t direct = 1;   // it may read all of the other memory of those it sees, too
    int32_t unseen = -1;  // the first rank that is not
    std::array<char, 184> why{};

    void see(size_t place) { seen[place / 64] |= uint64_t{1} << place % 64; }
    [[nodiscard]] bool sees(size_t place) const {
        return (seen[place / 64] >> place % 64 & 1) != 0;
    }
    void miss(int rank, const std::string& reason) {
        if (unseen >= 0) return;
        unseen = rank;
        reason.copy(why.data(), why.size() - 1);
    }
};

// A rank's part in collectives, then its mail, where all ranks may be on one host.
size_t segment_bytes(size_t ranks) {
    return sizeof(Part) + (ranks <= size_t{most_ranks} ? mail_bytes(static_cast<int>(ranks)) : 0);
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

std::string why_not_all(const std::vector<Answer>& answers) {
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
        answer.miss(static_cast<int>(peer), error.status().message);
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

Meeting meet(Channel& channel, const Deadline& deadline) {
    const auto own = static_cast<size_t>(channel.rank());
    Answer answer;
    std::vector<std::optional<Segment>> segments(static_cast<size_t>(channel.size()));
    try {
        segments[own].emplace(Segment::make(segment_bytes(segments.size())));
    } catch (const Error& error) {
        answer.miss(channel.rank(), error.status().message);
    }
    const Card card{segments[own] ? segments[own]->address() : Address{}, place_of(channel.rank()),
                    processors_of_this_process(), ways_from_environment()};
    const auto cards = tell_all(channel, 0, card, deadline);
    const auto seats = seats_of(cards);
    for (size_t peer = 0; peer < seats.size(); ++peer) {
        look(answer, cards, seats, own, peer, segments[peer]);
    }
    const auto answers = tell_all(channel, 1, answer, deadline);
    Meeting meeting;
    meeting.hosts = hosts_of(seats, answers);
    meeting.why = why_not_all(answers);
    if (segments[own]) segments[own]->close();
    meeting.here = team_of(own, meeting.hosts, cards, answers, segments);
    return meeting;
}

void await_all_met(Channel& channel, const Deadline& deadline) {
    try {
        (void)tell_all(channel, 2, uint32_t{0}, deadline);
    } catch (const Error&) {  // somebody has left: then all have met
    }
}

}  // namespace tutti::shm
