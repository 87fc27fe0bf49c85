// The ranks of a group that see each other's memory, and the steps in which they exchange pieces of
// data: every rank takes the same number of steps in a collective. In each it stages one piece and
// posts it, or none, and reads the others'. Runs one collective at a time, on the thread that
// called it; throws what Exchange throws.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "algorithm/reduction.hpp"
#include "base/deadline.hpp"
#include "call/fingerprint.hpp"
#include "layout.hpp"
#include "membership/membership.hpp"
#include "memory/segment.hpp"
#include "memory/shared.hpp"
#include "placement.hpp"
#include "progress/doorbell.hpp"
#include "progress/helper.hpp"
#include "progress/pace.hpp"
#include "tuning.hpp"

namespace tutti::shm {

// What a team is made of. Its members may be some of a group's; it numbers them in order, and
// errors name them by their ranks in the group.
struct TeamConfig {
    std::vector<int> members;       // in the group
    std::vector<Segment> segments;  // theirs
    int spins = 0;                  // how often to look before others may run
    bool direct = false;            // every rank may read all memory of the others
    Algorithms algorithms{};
    bool may_move = true;        // this rank, to another processor
    Helper* messages = nullptr;  // of the group, moved by a thread that waits; null: there are none
};

class Team {
public:
    // `membership` reports what becomes of the others.
    Team(TeamConfig config, Membership& membership);
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    [[nodiscard]] int group_rank(int rank) const {
        return config_.members[static_cast<size_t>(rank)];
    }
    [[nodiscard]] const TeamConfig& config() const { return config_; }
    [[nodiscard]] int32_t process(int rank) const {
        return config_.segments[static_cast<size_t>(rank)].address().process;
    }
    // Whether ranks share processors.
    [[nodiscard]] bool is_crowded() const { return config_.spins == 0; }
    // The blocks that its ranks share.
    [[nodiscard]] const Shared& shared() const { return shared_; }
    void share(std::vector<std::shared_ptr<Segment>> parts) { shared_.add(std::move(parts)); }
    // Whether to look for shared memory with a tensor of that size: the same on all ranks.
    [[nodiscard]] bool looks_for_shared(OperationKind op, size_t bytes) const;

    // The algorithm for a tensor of that size.
    [[nodiscard]] Algorithm algorithm(OperationKind op, size_t bytes) const;

    // Logs the algorithm, at trace level.
    void log_algorithm(OperationKind op, size_t bytes, const char* algorithm) const;

    // A call begins, also one that the team does not serve: ranks compare all their calls.
    void begin(const Fingerprint& call, uint64_t sequence, const Deadline& deadline);
    // The call has failed: ranks that have not read this rank's pieces wait, until they learn of
    // it.
    void withdraw() noexcept;
    // Throws MISMATCH if another rank has called something else, as far back as both remember.
    void compare() const;

    // The first of so many steps, which this call takes.
    uint64_t take(size_t steps) {
        const uint64_t first = next_step_;
        next_step_ += steps;
        return first;
    }

    // Memory for this rank's piece of the step, once all have read its previous content.
    Bytes stage(uint64_t step, size_t bytes) {
        make_room(step, bytes <= Line::most ? max_lines : max_slots);
        return piece(*mine_, step, bytes);
    }
    // The same for a piece with a part of a result behind it, in a slot whatever its size.
    struct Slot {
        Bytes data;
        Bytes result;
    };
    Slot stage_slot(uint64_t step) {
        make_room(step, max_slots);
        return slot(*mine_, step);
    }
    // Publishes the staged piece and everything written before.
    void post(uint64_t step);

    // Until that rank, which may be this one, has posted in the step.
    void await(int peer, uint64_t step);
    void await_all(uint64_t step) {
        for (int peer = 0; peer < size_; ++peer) {
            if (peer != rank_) await(peer, step);  // its own line has just gone to the others
        }
    }
    // Its posted piece, after await().
    [[nodiscard]] ConstBytes posted(int peer, uint64_t step, size_t bytes) const {
        return piece(part(peer), step, bytes);
    }
    [[nodiscard]] Slot posted_slot(int peer, uint64_t step) const { return slot(part(peer), step); }
    // Both.
    ConstBytes await(int peer, uint64_t step, size_t bytes) {
        await(peer, step);
        return posted(peer, step, bytes);
    }
    // Whether that rank, which had posted in the step, is still in the call.
    [[nodiscard]] bool is_still_posted(int peer, uint64_t step) const {
        return line(part(peer), step).step.load(std::memory_order_acquire) == step;
    }
    // Rank `peer` is known to have failed: throws the reason as soon as the membership tells it.
    [[noreturn]] void await_trouble(int peer);
    // This rank has read that step and all before it; `bytes` as for stage().
    void finish(uint64_t step, size_t bytes);
    void finish_slot(uint64_t step) { finish(step, chunk_bytes); }

private:
    [[nodiscard]] Part& part(int rank) const { return *parts_[static_cast<size_t>(rank)]; }
    static Line& line(Part& part, uint64_t step) { return part.lines[step % max_lines]; }
    static Slot slot(Part& part, uint64_t step) {
        std::byte* const begin = part.slots[step % max_slots];
        return {{begin, chunk_bytes}, {begin + chunk_bytes, result_bytes}};
    }
    static Bytes piece(Part& part, uint64_t step, size_t bytes) {
        std::byte* const begin =
            bytes <= Line::most ? line(part, step).data : part.slots[step % max_slots];
        return {begin, bytes};
    }
    void make_room(uint64_t step, size_t ring) {
        if (step > ring && least_finished_ <= step - ring) wait_for_room(step - ring);
    }
    // Until all have finished that step.
    void wait_for_room(uint64_t step);
    template <typename IsReady>
    void wait_for(int peer, IsReady is_ready);
    void wait_slowly(int peer, bool (*is_ready)(void*), void* context);
    void look_around();
    [[nodiscard]] uint64_t oldest_record() const {
        return sequence_ < max_records ? 1 : sequence_ - max_records + 1;
    }
    void report_stall() const;
    void check_not_failed() const;
    void compare_with(int peer) const;
    [[noreturn]] void fail_mismatch(int peer) const;

    const TeamConfig config_;
    Membership& membership_;
    const int rank_;
    const int size_;
    Crowd crowd_;
    Placement placement_;
    Shared shared_;
    std::vector<Part*> parts_;
    Part* const mine_;
    std::vector<uint64_t> finished_;  // by rank, as last seen
    uint64_t least_finished_ = 1;     // of them
    uint64_t next_step_ = 1;
    // of the current call
    uint64_t first_step_ = 1;
    uint64_t history_ = 0;
    uint64_t sequence_ = 0;
    Fingerprint call_;
    Deadline deadline_ = Deadline::never();
};

}  // namespace tutti::shm
