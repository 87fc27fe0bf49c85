// The variables of launchers, one row each. Any thread.
#include "launchers.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/hash.hpp"

namespace tutti {

namespace {

// A launcher by its variables; an empty name is one that it does not set.
struct Launcher {
    const char* name;
    const char* rank;
    std::array<const char*, 2> sizes;  // the first that is set
    const char* ranks_here;            // how many of the ranks are on this host
    const char* host_count;
    std::array<const char*, 2> job;  // identify the job
};

constexpr std::array launchers{
    Launcher{"Open MPI",
             "OMPI_COMM_WORLD_RANK",
             {"OMPI_COMM_WORLD_SIZE", ""},
             "OMPI_COMM_WORLD_LOCAL_SIZE",
             "",
             {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
    Launcher{"PMI", "PMI_RANK", {"PMI_SIZE", ""}, "MPI_LOCALNRANKS", "", {"PMI_JOBID", ""}},
    Launcher{"Slurm",
             "SLURM_PROCID",
             {"SLURM_STEP_NUM_TASKS", ""},  // set by srun alone, not in a batch script
             "",
             "SLURM_STEP_NUM_NODES",
             {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
};

std::optional<int> number(const VariableLookup& lookup, const char* name, int lowest) {
    if (*name == '\0') return std::nullopt;
    const auto text = lookup(name);
    if (!text) return std::nullopt;
    return static_cast<int>(
        parse_number(*text, cat("environment variable ", name), lowest, INT_MAX));
}

// Below the ports that systems assign; the default one if nothing identifies the job.
int port_of(const Launcher& launcher, const VariableLookup& lookup) {
    constexpr int usual = 29'500;
    constexpr uint32_t lowest = 20'000;
    constexpr uint32_t count = 9'000;
    std::string job;
    for (const char* name : launcher.job) {
        if (*name != '\0') job += cat(lookup(name).value_or(""), ".");
    }
    if (job.find_first_not_of('.') == std::string::npos) return usual;
    return static_cast<int>(lowest + fnv1a_32(job) % count);
}

std::string master_of(const Launcher& launcher, int world_size, const VariableLookup& lookup) {
    const bool all_here = number(lookup, launcher.ranks_here, 1) == world_size ||
                          number(lookup, launcher.host_count, 1) == 1;
    if (all_here) return "127.0.0.1";
    for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
        if (const auto hosts = lookup(name)) return first_host(*hosts);
    }
    return "";
}

}  // namespace

std::optional<LaunchPlace> place_by_launcher(const VariableLookup& lookup) {
    for (const auto& launcher : launchers) {
        const auto rank = number(lookup, launcher.rank, 0);
        auto size = number(lookup, launcher.sizes[0], 1);
        if (!size) size = number(lookup, launcher.sizes[1], 1);
        if (!rank || !size) continue;
        return LaunchPlace{launcher.name, *rank, *size, master_of(launcher, *size, lookup),
                           port_of(launcher, lookup)};
    }
    return std::nullopt;
}

std::string first_host(const std::string& hosts) {
    const auto end = hosts.find_first_of(",[");
    auto host = hosts.substr(0, end);
    if (end == std::string::npos || hosts[end] == ',') return host;
    const auto close = hosts.find(']', end);
    const auto first = hosts.find_first_of("-,]", end);
    if (close == std::string::npos) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("the list of hosts of Slurm, \"", hosts, "\", has an open bracket"));
    }
    host += hosts.substr(end + 1, first - end - 1);
    // More may follow the bracket: "rack[1-2]node[3-4]", "node[1-2].cluster".
    const auto rest = hosts.substr(close + 1);
    return rest.empty() || rest.front() == ',' ? host : host + first_host(rest);
}

}  // namespace tutti
