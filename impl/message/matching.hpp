// Matches messages with receives: by source and tag, in the order in which messages arrived and
// receives were started. Under the lock of the Messages.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/keyed_queues.hpp"
#include "base/match_table.hpp"
#include "operation.hpp"

namespace tutti::message {

// A message that arrived before its receive.
struct Arrival : Listed {
    Arrival(int from, int with_tag) : source(from), tag(with_tag) {}
    virtual ~Arrival() = default;

    const int source;
    const int tag;
    size_t kept = 0;         // bytes of data that are kept in memory of this rank's own
    Sending* own = nullptr;  // one to this rank itself
    QueuePlace<Arrival> in_stream;
    QueuePlace<Arrival> in_slot;
};

class Matching {
public:
    Matching(int rank, int ranks) : rank_(rank), waiting_from_(static_cast<size_t>(ranks)) {}
    ~Matching() { clear(); }
    Matching(const Matching&) = delete;
    Matching& operator=(const Matching&) = delete;

    // A receive waits for its message, in its turn.
    void add(Receiving& receiving);
    void remove(Receiving& receiving);
    // The first that matches such a message; stays in the list.
    Receiving* find_receiving(int source, int tag);
    // The first that was started so, with that source, which may be any; stays in the list.
    Receiving* find_started(int source, int tag);
    // The one of that work; null: it does not wait.
    Receiving* find_receiving(const Work& work);

    // Behind all earlier ones.
    void add(std::unique_ptr<Arrival> arrival) noexcept;
    std::unique_ptr<Arrival> remove(Arrival& arrival) noexcept;
    // The first that matches such a receive; stays in the list.
    Arrival* find_arrival(const Receive& call);
    // is_gone(arrival): its sender has withdrawn it.
    template <typename IsGone>
    void drop_arrivals(IsGone&& is_gone) {
        arrivals_.find([&](Arrival& arrival) {
            if (is_gone(arrival)) remove(arrival);
            return false;
        });
    }
    [[nodiscard]] size_t arrivals_from(int source) const {
        return source == rank_ ? 0 : arrived_[static_cast<size_t>(source)];
    }
    // Bytes of data that all arrivals keep.
    [[nodiscard]] size_t kept() const { return kept_; }

    // Whether a receive waits for messages of that rank.
    [[nodiscard]] bool wants(int source) const {
        return waiting_from_[static_cast<size_t>(source)] > 0 ||
               (waiting_from_any_ > 0 && source != rank_);
    }
    [[nodiscard]] bool waits_for_any() const { return waiting_from_any_ > 0; }
    // act(receiving) for each that waits; it may remove that one.
    template <typename Act>
    void for_receivings(Act&& act) {
        receivings_.find([&](Receiving& receiving) { return act(receiving), false; });
    }

private:
    uint32_t& waiting(const Receive& call) {
        if (call.source == any_source) return waiting_from_any_;
        return waiting_from_[static_cast<size_t>(call.source)];
    }
    void clear();

    const int rank_;
    MatchTable<Receiving, Arrival> table_;
    KeyedQueues<Receiving, &Receiving::by_work> by_work_;
    List<Receiving> receivings_;          // all
    List<Arrival> arrivals_;              // all, in the order in which they came
    std::vector<uint32_t> waiting_from_;  // receives, by source
    uint32_t waiting_from_any_ = 0;
    std::vector<size_t> arrived_ = std::vector<size_t>(waiting_from_.size());  // by source
    size_t kept_ = 0;
};

}  // namespace tutti::message
