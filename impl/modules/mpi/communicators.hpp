// The communicators of a group, made by all of its ranks at once, and no later than the time for
// that is over. Throws Failure.
#pragma once

#include <memory>
#include <vector>

#include "library.hpp"

namespace tutti::mpi {

// Ranks know this of each other before they make communicators.
struct Process {
    int32_t world_rank, world_size, id;
    int32_t has_world;  // 1: the module's own duplicate of MPI_COMM_WORLD
    char job[96];       // MPI, its version, the launcher's name of the job
};

struct Communicators {
    MPI_Comm collectives = MPI_COMM_NULL;
    MPI_Comm messages = MPI_COMM_NULL;
};

// On all ranks of a group that opens. Without the library's lock.
[[nodiscard]] Communicators open_communicators(const tutti_backend_place& place);
// On all `ranks` of a group whose messages go by `parent`: for those of one color, none for colors
// below 0. `owner` keeps `parent` alive.
[[nodiscard]] Communicators split_communicators(const tutti_backend_place& place, int ranks,
                                                MPI_Comm parent, std::shared_ptr<void> owner,
                                                int color);

}  // namespace tutti::mpi
