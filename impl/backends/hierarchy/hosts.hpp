// The hosts of a group's ranks: ranks of one host see each other's memory, and a network connects
// the hosts. Plain data, the same on all ranks but for this rank's own place.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tutti::hierarchy {

using Ranks = std::vector<int>;

class Hosts {
public:
    // The ranks of each host, in ascending order; hosts by their first ranks.
    Hosts(std::vector<Ranks> hosts, int rank);

    [[nodiscard]] int count() const { return static_cast<int>(hosts_.size()); }
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int ranks() const { return static_cast<int>(homes_.size()); }
    [[nodiscard]] const Ranks& on(int host) const { return hosts_[static_cast<size_t>(host)]; }
    [[nodiscard]] int host_of(int rank) const { return home_of(rank).host; }
    // Index among the ranks of its host.
    [[nodiscard]] int local_rank_of(int rank) const { return home_of(rank).local_rank; }
    // This rank's.
    [[nodiscard]] int host() const { return host_of(rank_); }
    [[nodiscard]] int local_rank() const { return local_rank_of(rank_); }
    [[nodiscard]] const Ranks& here() const { return on(host()); }

    [[nodiscard]] int fewest() const { return fewest_; }  // ranks on a host
    [[nodiscard]] int most() const { return most_; }
    // Whether the ranks of every host follow each other.
    [[nodiscard]] bool are_in_order() const { return are_in_order_; }
    // One rank of each host, in host order: those with that local rank, which every host has.
    [[nodiscard]] const Ranks& lane(int local_rank) const {
        return lanes_[static_cast<size_t>(local_rank)];
    }
    // The first rank of each host; for the host of `rank`, that one.
    [[nodiscard]] Ranks leaders(int rank) const;

private:
    struct Home {
        int host = 0;
        int local_rank = 0;
    };
    [[nodiscard]] const Home& home_of(int rank) const { return homes_[static_cast<size_t>(rank)]; }

    std::vector<Ranks> hosts_;
    int rank_;
    std::vector<Home> homes_;  // by rank
    int fewest_ = 0;
    int most_ = 0;
    bool are_in_order_ = true;
    std::vector<Ranks> lanes_;
};

}  // namespace tutti::hierarchy
