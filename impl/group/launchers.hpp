// A process's place in its job, from the variables of launchers other than torchrun: Open MPI,
// MPICH and Intel MPI (PMI), Slurm. Any thread, no side effects.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace tutti {

struct LaunchPlace {
    const char* launcher = "";  // "Slurm"
    int rank = 0;
    int world_size = 1;
    std::string master_addr = {};  // of the host of rank 0; empty if unknown
    int master_port = 0;           // the same for all ranks of the job
};

// The value of an environment variable; nothing if not set or empty.
using VariableLookup = std::function<std::optional<std::string>(const char* name)>;

// Nothing if none of them started this process. mpirun inside a Slurm allocation counts as mpirun.
// INVALID_ARGUMENT naming the variable that is malformed.
std::optional<LaunchPlace> place_by_launcher(const VariableLookup& lookup);

// The first host in Slurm's notation: "node[07-09,12],login" is "node07".
std::string first_host(const std::string& hosts);

}  // namespace tutti
