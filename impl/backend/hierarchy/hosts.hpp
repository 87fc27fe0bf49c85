// Which ranks are on which host: ranks of one host see each other's memory, and between hosts lies
// a network. Plain data, the same on all ranks but for who looks at it.
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
    // Among the ranks of its host.
    [[nodiscard]] int place_of(int rank) const { return home_of(rank).place; }
    // This rank's.
    [[nodiscard]] int host() const { return host_of(rank_); }
    [[nodiscard]] int place() const { return place_of(rank_); }
    [[nodiscard]] const Ranks& here() const { return on(host()); }

    [[nodiscard]] int fewest() const { return fewest_; }  // ranks on a host
    [[nodiscard]] int most() const { return most_; }
    // Whether the ranks of every host follow each other.
    [[nodiscard]] bool are_in_order() const { return are_in_order_; }
    // One rank of each host, in their order: the one at that place, which all have.
    [[nodiscard]] const Ranks& lane(int place) const { return lanes_[static_cast<size_t>(place)]; }
    // The first rank of each host, but of its own that one.
    [[nodiscard]] Ranks leaders(int rank) const;

private:
    struct Home {
        int host = 0;
        int place = 0;
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
