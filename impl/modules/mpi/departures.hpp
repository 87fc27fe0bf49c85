// The ranks that have left a group: the host says that one has left, and its goodbye, behind all
// its messages, says which collective was its last. With the library's lock, but for what says
// otherwise.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "library.hpp"

namespace tutti::mpi {

inline Failure failure_of_departed(int rank) {
    return {TUTTI_ERR_PEER_LOST, "rank " + std::to_string(rank) + " has left the group", rank};
}

class Departures {
public:
    explicit Departures(int size)
        : last_of_(static_cast<size_t>(size), -1), has_left_(static_cast<size_t>(size)) {}

    // From the host. Any thread.
    void left(int rank) noexcept {
        if (!has_left_[static_cast<size_t>(rank)].exchange(true)) ++leavers_;
    }
    void take_goodbye(int rank, int64_t last_sequence) {
        last_of_[static_cast<size_t>(rank)] = last_sequence;
        ++goodbyes_;
    }
    // Whether a goodbye is to come of a rank that has left.
    [[nodiscard]] bool awaits_goodbye() const { return leavers_ > goodbyes_; }
    [[nodiscard]] int goodbyes_to_come() const {
        return static_cast<int>(last_of_.size()) - 1 - goodbyes_;
    }

    [[nodiscard]] bool has_gone(int rank) const { return last_of_[static_cast<size_t>(rank)] >= 0; }
    // A rank that has left takes no part in collectives that it has not called. OK: none has.
    [[nodiscard]] Failure failure_of_collective(uint64_t sequence) const {
        for (size_t rank = 0; rank < last_of_.size(); ++rank) {
            const int64_t last = last_of_[rank];
            if (last < 0 || sequence <= static_cast<uint64_t>(last)) continue;
            return failure_of_departed(static_cast<int>(rank));
        }
        return {};
    }
    // Whether no rank is left whose message this receive can get.
    [[nodiscard]] bool nobody_sends(const tutti_backend_call& receive) const {
        if (receive.peer >= 0) return has_gone(receive.peer);
        const auto has_gone = [](int64_t last) { return last >= 0; };
        const auto others = static_cast<std::ptrdiff_t>(last_of_.size()) - 1;
        return others > 0 && std::ranges::count_if(last_of_, has_gone) == others;
    }

private:
    std::vector<int64_t> last_of_;  // the last collective of ranks that said goodbye; else -1
    std::vector<std::atomic<bool>> has_left_;
    std::atomic<int> leavers_{0};
    int goodbyes_ = 0;
};

}  // namespace tutti::mpi
