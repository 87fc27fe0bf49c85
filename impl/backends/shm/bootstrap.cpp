#include "bootstrap.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/plain.hpp"
#include "message/rings/ring.hpp"
#include "progress/processors.hpp"

namespace tutti::shm {

namespace {

// The values of all ranks, by rank.
template <Plain Value>
std::vector<Value> all_gather_values(Membership& membership, const char* key, const Value& mine,
                                     const Deadline& deadline) {
    const std::string bytes(reinterpret_cast<const char*>(&mine), sizeof mine);
    const auto all = membership.all_gather(key, bytes, deadline);
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
constexpr int64_t max_hosts = 1 << 20;

struct Endpoint {
    Address address;  // of no host: there is none
    uint64_t place = 0;
    Processors processors;
    Algorithms algorithms;
    std::array<uint8_t, 7> reserved{};  // in the place of padding

    // Only ranks of one neighbourhood may see each other's memory.
    [[nodiscard]] bool is_near(const Endpoint& other) const {
        return address.host != 0 && address.host == other.address.host && place == other.place;
    }
};

// A rank's report about the others, after trying.
struct Answer {
    std::array<uint64_t, max_ranks / 64> seen{};  // by place in the neighbourhood
    int32_t direct = 1;                           // it may read all other memory of those it sees
    int32_t unseen = -1;                          // the first rank that is not
    int32_t is_exhausted = 0;  // because this rank has no memory or descriptor for it
    std::array<char, 188> why{};

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
    const auto neighbours = static_cast<int>(std::min(ranks, size_t{max_ranks}));
    return sizeof(Part) + message::max_rings_bytes(neighbours);
}

uint64_t place_of(int rank) {
    const std::optional<std::string> text = environment(hosts_variable);
    if (!text) return 0;
    std::vector<int64_t> places;
    std::istringstream list(*text + ",");
    for (std::string one; std::getline(list, one, ',');) {
        places.push_back(
            parse_number(one, cat("a number in the variable ", hosts_variable), 0, max_hosts));
    }
    return static_cast<uint64_t>(places[static_cast<size_t>(rank) % places.size()]);
}

// Where a rank is in its neighbourhood: of one host, and not more than a segment has room for.
struct Position {
    size_t neighbourhood;
    size_t place;
};

std::vector<Position> positions_of(const std::vector<Endpoint>& endpoints) {
    std::vector<std::vector<size_t>> neighbourhoods;
    std::vector<Position> positions;
    for (size_t rank = 0; rank < endpoints.size(); ++rank) {
        const auto found = std::ranges::find_if(neighbourhoods, [&](const auto& ranks) {
            return ranks.size() < size_t{max_ranks} &&
                   endpoints[ranks.front()].is_near(endpoints[rank]);
        });
        const auto index = static_cast<size_t>(found - neighbourhoods.begin());
        if (index == neighbourhoods.size()) neighbourhoods.emplace_back();
        auto& home = neighbourhoods[index];
        positions.push_back({index, home.size()});
        home.push_back(rank);
    }
    return positions;
}

const char* why_not_near(const Endpoint& mine, const Endpoint& theirs) {
    if (mine.address.host != theirs.address.host || mine.address.host == 0) {
        return "it is on another host, or in another container";
    }
    if (mine.place != theirs.place) return "TUTTI_HOSTS says that it is on another host";
    return "their host has too many ranks";
}

// One after the other, each rank joins the first host all of whose ranks it sees, and they it.
std::vector<std::vector<int>> hosts_of(const std::vector<Position>& positions,
                                       const std::vector<Answer>& answers) {
    std::vector<std::vector<int>> hosts;
    const auto see_each_other = [&](size_t one, size_t other) {
        return positions[one].neighbourhood == positions[other].neighbourhood &&
               answers[one].sees(positions[other].place) &&
               answers[other].sees(positions[one].place);
    };
    for (size_t rank = 0; rank < positions.size(); ++rank) {
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
void look(Answer& answer, const std::vector<Endpoint>& endpoints,
          const std::vector<Position>& positions, size_t own, size_t peer,
          std::optional<Segment>& segment) {
    if (peer == own && !segment) return;
    try {
        if (positions[peer].neighbourhood != positions[own].neighbourhood) {
            throw Error(TUTTI_ERR_UNSUPPORTED, why_not_near(endpoints[own], endpoints[peer]));
        }
        if (peer != own)
            segment.emplace(Segment::open(endpoints[peer].address, segment_bytes(endpoints.size()),
                                          Segment::Access::ReadWrite));
        answer.see(positions[peer].place);
        if (!segment->lets_read_memory()) answer.direct = 0;
    } catch (const Error& error) {
        answer.miss(static_cast<int>(peer), error.status());
    }
}

TeamConfig team_of(size_t own, const std::vector<std::vector<int>>& hosts,
                   const std::vector<Endpoint>& endpoints, const std::vector<Answer>& answers,
                   std::vector<std::optional<Segment>>& segments) {
    TeamConfig config;
    config.members = *std::ranges::find_if(hosts, [&](const auto& ranks) {
        return std::ranges::find(ranks, static_cast<int>(own)) != ranks.end();
    });
    config.direct = true;
    config.algorithms = endpoints.front().algorithms;
    std::vector<Processors> processors;
    for (const int member : config.members) {
        const auto rank = static_cast<size_t>(member);
        if (segments[rank]) config.segments.push_back(std::move(*segments[rank]));
        processors.push_back(endpoints[rank].processors);
        config.direct = config.direct && answers[rank].direct != 0;
    }
    config.spins = spins_for(processors);
    return config;
}

message::LongData long_data_of(const Algorithms& algorithms) {
    switch (algorithms[static_cast<size_t>(OperationKind::Message)]) {
        case Algorithm::Staged:
            return message::LongData::Streamed;
        case Algorithm::Direct:
            return message::LongData::InPlace;
        default:
            return message::LongData::BySize;
    }
}

}  // namespace

BootstrapResult bootstrap(Membership& membership, const Deadline& deadline) {
    const bool may_move = may_move_by_environment();
    const auto own = static_cast<size_t>(membership.rank());
    Answer answer;
    std::vector<std::optional<Segment>> segments(static_cast<size_t>(membership.size()));
    try {
        segments[own].emplace(Segment::make(segment_bytes(segments.size())));
    } catch (const Error& error) {
        answer.miss(membership.rank(), error.status());
    }
    const Endpoint endpoint{segments[own] ? segments[own]->address() : Address{},
                            place_of(membership.rank()),
                            processors_of_this_process(),
                            algorithms_from_environment(),
                            {}};
    const auto endpoints = all_gather_values(membership, "shm/endpoints", endpoint, deadline);
    const auto positions = positions_of(endpoints);
    for (size_t peer = 0; peer < positions.size(); ++peer) {
        look(answer, endpoints, positions, own, peer, segments[peer]);
    }
    const auto answers = all_gather_values(membership, "shm/answers", answer, deadline);
    BootstrapResult result;
    result.hosts = hosts_of(positions, answers);
    result.why = why_not_all(answers);
    result.exhausted_rank = exhausted_rank(answers);
    if (segments[own]) segments[own]->close();
    result.here = team_of(own, result.hosts, endpoints, answers, segments);
    result.here.may_move = may_move;
    return result;
}

message::Neighbours neighbours(const TeamConfig& config) {
    message::Neighbours result{{}, long_data_of(config.algorithms), config.spins};
    if (config.members.size() != config.segments.size())
        return result;  // it is alone, without memory
    for (size_t place = 0; place < config.members.size(); ++place) {
        const Segment& segment = config.segments[place];
        result.ranks.push_back({config.members[place],
                                static_cast<std::byte*>(segment.data()) + sizeof(Part),
                                config.direct ? segment.address().process : 0});
    }
    return result;
}

}  // namespace tutti::shm
