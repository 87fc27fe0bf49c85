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
        for (size_t place = 0; place < here.size(); ++place) {
            homes_[static_cast<size_t>(here[place])] = {static_cast<int>(host),
                                                        static_cast<int>(place)};
        }
    }
    for (size_t place = 0; place < static_cast<size_t>(fewest_); ++place) {
        Ranks& lane = lanes_.emplace_back();
        for (const Ranks& here : hosts_) lane.push_back(here[place]);
    }
}

Ranks Hosts::leaders(int rank) const {
    Ranks all = lane(0);
    all[static_cast<size_t>(host_of(rank))] = rank;
    return all;
}

}  // namespace tutti::hierarchy
