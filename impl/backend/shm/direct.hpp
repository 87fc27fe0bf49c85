// Ranks that read each other's data where they are, by the system's help (process_vm_readv): one
// copy less than by way of the slots. Takes a step to show where they are, and one in which ranks
// say that they have read them. On the thread of the call; throws what Team throws.
#pragma once

#include <array>
#include <cstdint>

#include "team.hpp"

namespace tutti::shm {

class Direct {
public:
    explicit Direct(Team& team) : team_(team), step_(team.take(1)) {}

    [[nodiscard]] const Team& team() const { return team_; }

    // Where this rank's data are; null: they change before all have read them.
    void show(const void* data);
    // Awaits what the others show. Whether all show data, which all ranks find alike; if not, this
    // was all.
    [[nodiscard]] bool find_all();
    // Awaits what that rank shows, which is not null.
    void find(int peer);
    // So many bytes of that rank's, which was found.
    void read(int peer, size_t offset, Bytes into) const;

    // Memory for this rank alone, while it reads.
    Bytes workplace() { return team_.stage_slot(step_).data; }

    // This rank has read what it wanted.
    void finish();
    // It reads nothing, and waits until all others have read what it shows.
    void finish_unread();
    // Both.
    void finish_together();

private:
    Team& team_;
    const uint64_t step_;
    std::array<uint64_t, most_ranks> where_;
};

}  // namespace tutti::shm
