// torchrun's environment for each worker. Any thread, no side effects.
#include "plan.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "logs.hpp"
#include "record/place.hpp"

namespace tutti::launch {

namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

bool has_variable(std::span<const char* const> environment, const std::string& name) {
    const auto start = name + "=";
    return std::any_of(environment.begin(), environment.end(), [&](const char* entry) {
        return std::string_view(entry).starts_with(start);
    });
}

// A name; null: any role.
using Role = const std::string*;

int count_ranks(std::span<const ProgramRanks> programs, Role role) {
    int ranks = 0;
    for (const auto& program : programs) {
        if (role == nullptr || program.role == *role) ranks += program.count;
    }
    return ranks;
}

// Ranks of the first `count` nodes.
int count_ranks(const Placement& placement, size_t count, Role role) {
    int ranks = 0;
    for (size_t node = 0; node < count; ++node) {
        ranks += count_ranks(placement.nodes[node].programs, role);
    }
    return ranks;
}

// Ranks before `program` of this node: those of the nodes before it and of its earlier programs.
int count_before(const Placement& placement, size_t program, Role role) {
    const auto node = static_cast<size_t>(placement.node_rank);
    const std::span<const ProgramRanks> programs(placement.nodes[node].programs);
    return count_ranks(placement, node, role) + count_ranks(programs.first(program), role);
}

// `index` counts the ranks of the program.
Variables worker_variables(const Placement& placement, const WorkerPlan& plan, int index) {
    const auto all = placement.nodes.size();
    const Node& node = placement.nodes[static_cast<size_t>(placement.node_rank)];
    const std::string& role = node.programs[plan.program].role;
    const int role_rank = count_before(placement, plan.program, &role) + index;
    Variables variables{
        {"RANK", std::to_string(plan.rank)},
        {"LOCAL_RANK", std::to_string(plan.local_rank)},
        {"GROUP_RANK", std::to_string(placement.node_rank)},
        {"ROLE_RANK", std::to_string(role_rank)},
        {"ROLE_NAME", role},
        {"LOCAL_WORLD_SIZE", std::to_string(local_size(node))},
        {"WORLD_SIZE", std::to_string(count_ranks(placement, all, nullptr))},
        {"GROUP_WORLD_SIZE", std::to_string(all)},
        {"ROLE_WORLD_SIZE", std::to_string(count_ranks(placement, all, &role))},
        {"MASTER_ADDR", placement.master_addr},
        {"MASTER_PORT", std::to_string(placement.master_port)},
        {"TORCHELASTIC_RESTART_COUNT", std::to_string(placement.attempt)},
        {"TORCHELASTIC_MAX_RESTARTS", std::to_string(placement.max_restarts)},
        {"TORCHELASTIC_RUN_ID", placement.run_id},
        {"TORCHELASTIC_USE_AGENT_STORE", "True"},
    };
    if (!placement.record_dir.empty()) {
        variables.emplace_back(record::folder_variable, placement.record_dir);
    }
    if (!plan.folder.empty()) {
        variables.emplace_back("TORCHELASTIC_ERROR_FILE", error_file_in(plan.folder));
    }
    return variables;
}

// The inherited variables, except those that are replaced, and a worker's own.
std::vector<std::string> environment_of(Variables variables, bool is_alone,
                                        std::span<const char* const> inherited) {
    std::vector<std::string> environment;
    for (const std::string_view entry : inherited) {
        const auto name = entry.substr(0, entry.find('='));
        const bool replaced =
            std::any_of(variables.begin(), variables.end(),
                        [&](const auto& variable) { return variable.first == name; });
        if (!replaced) environment.emplace_back(entry);
    }
    // Several processes with a thread for each core would crowd one another out.
    if (!is_alone && !has_variable(inherited, "OMP_NUM_THREADS")) {
        variables.emplace_back("OMP_NUM_THREADS", "1");
    }
    if (!has_variable(inherited, "TORCH_NCCL_ASYNC_ERROR_HANDLING")) {
        variables.emplace_back("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
    }
    for (const auto& [name, value] : variables) environment.push_back(cat(name, "=", value));
    return environment;
}

}  // namespace

int local_size(const Node& node) {
    return count_ranks(node.programs, nullptr);
}

std::vector<WorkerPlan> plan_workers(const Placement& placement,
                                     std::span<const char* const> inherited,
                                     const std::vector<std::string>& folders) {
    const Node& node = placement.nodes[static_cast<size_t>(placement.node_rank)];
    const bool is_alone = local_size(node) == 1;
    std::vector<WorkerPlan> plans;
    for (size_t program = 0; program < node.programs.size(); ++program) {
        const int first_rank = count_before(placement, program, nullptr);
        for (int index = 0; index < node.programs[program].count; ++index) {
            const size_t local_rank = plans.size();
            WorkerPlan plan{
                first_rank + index, static_cast<int>(local_rank), program, folders[local_rank], {}};
            plan.environment =
                environment_of(worker_variables(placement, plan, index), is_alone, inherited);
            plans.push_back(std::move(plan));
        }
    }
    return plans;
}

}  // namespace tutti::launch
