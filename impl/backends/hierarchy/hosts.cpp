#include "hosts.hpp"

#include <algorithm>

namespace tutti::hierarchy {

Hosts::Hosts(std::vector<Ranks> hosts, int rank) : hosts_(std::move(hosts)), rank_(rank) {
    size_t ranks = 0;
    for (const Ranks& one : hosts_) ranks += one.size();
    homes_.resize(ranks);
    fewest_ = static_cast<int>(ranks);
    for (size_t host = 0; host < hosts_.size(); ++host) {
        const Ranks& here = hosts_[host];
        const auto size = static_cast<int>(here.size());
        fewest_ = std::min(fewest_, size);
        most_ = std::max(most_, size);
        are_in_order_ = are_in_order_ && here.back() - here.front() + 1 == size;
        for (size_t local_rank = 0; local_rank < here.size(); ++local_rank) {
            homes_[static_cast<size_t>(here[local_rank])] = {static_cast<int>(host),
                                                             static_cast<int>(local_rank)};
        }
    }
    for (size_t local_rank = 0; local_rank < static_cast<size_t>(fewest_); ++local_rank) {
        Ranks& lane = lanes_.emplace_back();
        for (const Ranks& here : hosts_) lane.push_back(here[local_rank]);
    }
}

Ranks Hosts::leaders(int rank) const {
    Ranks all = lane(0);
    all[static_cast<size_t>(host_of(rank))] = rank;
    return all;
}

}  // namespace tutti::hierarchy
