// The variables of other launchers: a place within the job, none, or an Error that names one.
// Input: values of variables, each ended by a zero byte, in the order of the list below.
#include "group/launchers.hpp"

#include <map>

#include "base/error.hpp"
#include "input.hpp"

namespace {

constexpr const char* names[] = {
    "SLURM_PROCID",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_STEP_NODELIST",
    "SLURM_STEP_NUM_NODES",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "PMIX_NAMESPACE",
    "OMPI_MCA_ess_base_jobid",
    "PMI_RANK",
    "PMI_SIZE",
    "MPI_LOCALNRANKS",
    "PMI_JOBID",
    "SLURM_JOB_NODELIST",
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view left(reinterpret_cast<const char*>(data), size);
    std::map<std::string, std::string> variables;
    for (const char* name : names) {
        const std::string_view value = left.substr(0, left.find('\0'));
        left.remove_prefix(std::min(left.size(), value.size() + 1));
        if (!value.empty()) variables[name] = value;
    }
    try {
        const auto place = tutti::place_by_launcher([&](const char* name) {
            const auto found = variables.find(name);
            return found == variables.end() ? std::nullopt : std::optional(found->second);
        });
        if (!place) return 0;
        FUZZ_EXPECT(place->rank >= 0 && place->world_size >= 1);
        FUZZ_EXPECT(place->master_port > 1024 && place->master_port < 32768);
    } catch (const tutti::Error& error) {
        FUZZ_EXPECT(error.status().code == TUTTI_ERR_INVALID_ARGUMENT);
    }
    return 0;
}
