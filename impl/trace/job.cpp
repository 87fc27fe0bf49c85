#include "job.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace tutti::trace {

namespace {

// More ranks than the records name, and more than this, are not believed.
constexpr int max_unheard = 16384;

// The process that counts for each rank is the latest.
std::vector<Recording> latest_of(std::vector<Recording> all) {
    uint64_t restarts = 0;
    for (const Recording& one : all) restarts = std::max(restarts, one.restarts);
    std::map<int, Recording> by_rank;
    std::vector<Recording> rest;  // of ranks that are not known
    for (Recording& one : all) {
        if (one.restarts != restarts) continue;
        if (one.rank < 0) {
            rest.push_back(std::move(one));
            continue;
        }
        const auto [at, is_new] = by_rank.try_emplace(one.rank);
        if (is_new || at->second.opened < one.opened) at->second = std::move(one);
    }
    std::vector<Recording> latest;
    latest.reserve(by_rank.size() + rest.size());
    for (auto& [rank, one] : by_rank) latest.push_back(std::move(one));
    std::move(rest.begin(), rest.end(), std::back_inserter(latest));
    return latest;
}

void add_members(Job& job, std::vector<Recording> recordings, const std::vector<Ending>& endings) {
    std::map<int, Member> by_rank;
    std::vector<Member> rest;
    int size = 0;
    for (Recording& one : recordings) {
        if (one.world_size <= max_unheard) size = std::max(size, one.world_size);
        Member member{one.rank, true, std::move(one), std::nullopt};
        if (member.rank < 0) {
            rest.push_back(std::move(member));
        } else {
            by_rank[member.rank] = std::move(member);
        }
    }
    for (int rank = 0; rank < size; ++rank) by_rank.try_emplace(rank).first->second.rank = rank;
    for (const Ending& ending : endings) {
        Member& member = by_rank[ending.rank];
        member.rank = ending.rank;
        member.ending = ending.status;
    }
    for (auto& [rank, member] : by_rank) job.members.push_back(std::move(member));
    std::move(rest.begin(), rest.end(), std::back_inserter(job.members));
}

// The members by rank; ranks without a record get a place.
class Places {
public:
    explicit Places(Job& job) : job_(job) {
        for (size_t i = 0; i < job.members.size(); ++i) {
            if (job.members[i].rank >= 0) by_rank_[job.members[i].rank] = i;
        }
    }
    // All that are not known, or not believed, are one member without a rank.
    size_t of(int rank) {
        if (rank < 0 || rank >= max_unheard) rank = -1;
        if (const auto at = by_rank_.find(rank); at != by_rank_.end()) return at->second;
        job_.members.push_back({rank, false, {}, std::nullopt});
        by_rank_[rank] = job_.members.size() - 1;
        return job_.members.size() - 1;
    }

private:
    Job& job_;
    std::map<int, size_t> by_rank_;
};

using Key = std::tuple<std::string, int, uint64_t>;

struct Made {
    std::vector<std::pair<size_t, uint16_t>> slots;  // of members
    std::vector<int> ranks;
};

// The ranks that all members together know.
std::map<Key, Made> groups_of(const Job& job) {
    std::map<Key, Made> groups;
    for (size_t i = 0; i < job.members.size(); ++i) {
        const auto& slots = job.members[i].record.groups;
        for (size_t slot = 0; slot < slots.size(); ++slot) {
            const Group& group = slots[slot];
            if (!group.is_known) continue;
            Made& made = groups[Key{group.name, group.size, group.members}];
            made.slots.emplace_back(i, static_cast<uint16_t>(slot));
            if (made.ranks.size() < group.ranks.size()) made.ranks.resize(group.ranks.size(), -1);
            for (size_t rank = 0; rank < group.ranks.size(); ++rank) {
                if (group.ranks[rank] >= 0) made.ranks[rank] = group.ranks[rank];
            }
            const auto own = static_cast<size_t>(group.rank);
            if (own < made.ranks.size() && made.ranks[own] < 0) {
                made.ranks[own] = job.members[i].rank;
            }
        }
    }
    return groups;
}

void add_groups(Job& job) {
    Places places(job);
    for (auto& [key, made] : groups_of(job)) {
        JobGroup group{std::get<0>(key), {}};
        for (const int rank : made.ranks) {
            group.seats.push_back({places.of(rank), 0, false});
        }
        for (const auto& [member, slot] : made.slots) {
            const auto rank = static_cast<size_t>(job.members[member].record.groups[slot].rank);
            if (rank < group.seats.size()) group.seats[rank] = {member, slot, true};
            job.members[member].record.groups[slot].ranks = made.ranks;
        }
        job.groups.push_back(std::move(group));
    }
}

}  // namespace

Job make_job(std::vector<Recording> recordings, const std::vector<Ending>& endings) {
    Job job;
    bool is_here = false;
    int64_t taken = 0;
    for (const Recording& one : recordings) {
        taken = std::max(taken, one.taken);
        job.now = std::max(job.now, one.last_sign());
        is_here |= one.process != ProcessState::Unknown;
    }
    if (is_here) job.now = std::max(job.now, taken);
    add_members(job, latest_of(std::move(recordings)), endings);
    add_groups(job);
    return job;
}

Job read_job(const std::vector<std::string>& files, const std::vector<Ending>& endings) {
    const Clock clock = Clock::now();
    std::vector<Recording> recordings;
    std::vector<std::string> remarks;
    for (const std::string& file : files) {
        try {
            recordings.push_back(read_recording(file, clock));
        } catch (const BadRecord& error) {
            remarks.emplace_back(error.what());
        }
    }
    Job job = make_job(std::move(recordings), endings);
    job.remarks = std::move(remarks);
    return job;
}

}  // namespace tutti::trace
