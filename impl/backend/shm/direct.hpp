// Ranks that read each other's data where they are: in memory that the team has shared, or by the
// system's help (process_vm_readv); one copy less than by way of the slots. Takes a step to show
// where the data are, and one in which ranks say that they have read them. On the thread of the
// call; throws what Team throws.
#pragma once

#include <array>
#include <cstdint>

#include "algorithm/reduction.hpp"
#include "reduce/reduce.hpp"
#include "team.hpp"

namespace tutti::shm {

class Direct {
public:
    // Whether ranks look where the data of such a tensor are: the same on all ranks.
    static bool is_for(const Team& team, Op op, size_t bytes) {
        return team.way(op, bytes) == Way::Direct || team.looks_for_shared(op, bytes);
    }
    // The same of a reduction: what only the rank itself makes of its input is not read there.
    static bool is_for(const Team& team, Op op, size_t bytes,
                       const algorithm::Reduction& reduction) {
        return !reduction.changes_input() && is_for(team, op, bytes);
    }
    Direct(Team& team, Op op, size_t bytes)
        : team_(team),
          op_(op),
          bytes_(bytes),
          copies_(team.way(op, bytes) == Way::Direct),
          step_(team.take(1)) {}

    [[nodiscard]] Team& team() const { return team_; }

    // Where this rank's data are, and its result, if the others may read that as well; or that they
    // change before all have read them.
    void show(ConstBytes data, ConstBytes result = {});
    void show_nothing();
    // How the data can be read that ranks show each other: found alike by all ranks, or of one rank
    // by those who look there. Awaits what they show. If they cannot be, this was all.
    enum class Reach { None, Copied, Seen };
    Reach find_all();
    Reach find(int peer);

    // What was found, at that offset: copied; or, if it can be seen, where it is.
    void read(int peer, size_t offset, Bytes into, Stores stores = Stores::Ordinary) const;
    [[nodiscard]] ConstBytes see(int peer, size_t offset, size_t bytes) const;
    // Whether it was found that data can be seen, and results.
    [[nodiscard]] bool sees() const { return reach_ == Reach::Seen; }
    [[nodiscard]] bool sees_results() const { return sees() && sees_results_; }
    [[nodiscard]] ConstBytes see_result(int peer, size_t offset, size_t bytes) const;
    // Whether on some rank the result takes the place of the data.
    [[nodiscard]] bool is_in_place() const { return is_in_place_; }

    // Memory for this rank alone, while it reads.
    Bytes workplace() { return team_.stage_slot(step_).data; }

    // This rank has read what it wanted.
    void finish();
    // It reads nothing, and waits until all others have read what it shows.
    void finish_unread();
    // Both.
    void finish_together();

private:
    // What a rank shows, in a line.
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
    const Op op_;
    const size_t bytes_;
    const bool copies_;  // data that cannot be seen
    const uint64_t step_;
    Reach reach_ = Reach::None;
    bool sees_results_ = false;
    bool is_in_place_ = false;
    std::array<Shown, most_ranks> shown_;
};

}  // namespace tutti::shm
