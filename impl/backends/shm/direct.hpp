// Ranks that read each other's data in place, in memory that the team shares, or by
// process_vm_readv: one copy less than through the slots. Takes a step to publish where the data
// are, and one to confirm that they were read. On the thread of the call; throws what Team throws.
#pragma once

#include <array>
#include <cstdint>

#include "algorithm/reduction.hpp"
#include "reduce/reduce.hpp"
#include "team.hpp"

namespace tutti::shm {

class DirectRead {
public:
    // Whether ranks look for the data of such a tensor: the same on all ranks.
    static bool is_for(const Team& team, OperationKind op, size_t bytes) {
        return team.algorithm(op, bytes) == Algorithm::Direct || team.looks_for_shared(op, bytes);
    }
    // The same for a reduction, unless a rank changes its input first.
    static bool is_for(const Team& team, OperationKind op, size_t bytes,
                       const algorithm::Reduction& reduction) {
        return !reduction.changes_input() && is_for(team, op, bytes);
    }
    DirectRead(Team& team, OperationKind op, size_t bytes)
        : team_(team),
          op_(op),
          bytes_(bytes),
          copies_(team.algorithm(op, bytes) == Algorithm::Direct),
          step_(team.take(1)) {}

    [[nodiscard]] Team& team() const { return team_; }

    // Publishes where this rank's data are, and its result, if the others may read that as well; or
    // that the data change before all have read them.
    void show(ConstBytes data, ConstBytes result = {});
    void show_nothing();
    // How published data can be read: found alike by all ranks, or of one rank by those that look
    // there. Waits for the publication. With None, all is done.
    enum class Reach { None, Copied, Seen };
    Reach find_all();
    Reach find(int peer);

    // The found data, at that offset: copied; or, if visible, in place.
    void read(int peer, size_t offset, Bytes into, Stores stores = Stores::Ordinary) const;
    [[nodiscard]] ConstBytes see(int peer, size_t offset, size_t bytes) const;
    // Whether data are visible, and results.
    [[nodiscard]] bool sees() const { return reach_ == Reach::Seen; }
    [[nodiscard]] bool sees_results() const { return sees() && sees_results_; }
    [[nodiscard]] ConstBytes see_result(int peer, size_t offset, size_t bytes) const;
    // Whether on any rank the result takes the place of the data.
    [[nodiscard]] bool is_in_place() const { return is_in_place_; }

    // Memory for this rank alone, while it reads.
    Bytes workplace() { return team_.stage_slot(step_).data; }

    // This rank has finished reading.
    void finish();
    // It reads nothing, and waits until all others have read its data.
    void finish_unread();
    // Both.
    void finish_together();

private:
    // A publication, in a flag line.
    struct Shown {
        uint64_t address;  // of its data, in its own memory; 0: they change
        Place data;
        Place result;
    };
    void post(const Shown& shown);
    Reach look(int peer);
    Reach found(Reach reach);
    [[nodiscard]] const Shown& shown(int peer) const { return shown_[static_cast<size_t>(peer)]; }
    [[nodiscard]] ConstBytes see_at(int peer, Place place, size_t offset, size_t bytes) const;

    Team& team_;
    const OperationKind op_;
    const size_t bytes_;
    const bool copies_;  // data that are not visible
    const uint64_t step_;
    Reach reach_ = Reach::None;
    bool sees_results_ = false;
    bool is_in_place_ = false;
    std::array<Shown, max_ranks> shown_;
};

}  // namespace tutti::shm
