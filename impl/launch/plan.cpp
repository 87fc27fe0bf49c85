// torchrun's environment for each worker. Any thread, no side effects.
#include "plan.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "logs.hpp"

namespace tutti::launch {

namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

bool has_variable(std::span<const char* const> environment, const std::string& name) {
    const auto start = name + "=";
    return std::any_of(environment.begin(), environment.end(), [&](const char* entry) {
        return std::string_view(entry).starts_with(start);
    });
}

// Ranks of the first `count` nodes that have the role; of all if it is empty.
int count_ranks(const Placement& placement, size_t count, const std::string& role) {
    int ranks = 0;
    for (size_t node = 0; node < count; ++node) {
        const bool counts = role.empty() || placement.nodes[node].role == role;
        if (counts) ranks += placement.nodes[node].local_size;
    }
    return ranks;
}

Variables worker_variables(const Placement& placement, int local_rank, const std::string& folder) {
    const auto before = static_cast<size_t>(placement.node_rank);
    const auto all = placement.nodes.size();
    const Node& node = placement.nodes[before];
    const int rank = count_ranks(placement, before, "") + local_rank;
    const int role_rank = count_ranks(placement, before, node.role) + local_rank;
    Variables variables{
        {"RANK", std::to_string(rank)},
        {"LOCAL_RANK", std::to_string(local_rank)},
        {"GROUP_RANK", std::to_string(placement.node_rank)},
        {"ROLE_RANK", std::to_string(role_rank)},
        {"ROLE_NAME", node.role},
        {"LOCAL_WORLD_SIZE", std::to_string(node.local_size)},
        {"WORLD_SIZE", std::to_string(count_ranks(placement, all, ""))},
        {"GROUP_WORLD_SIZE", std::to_string(all)},
        {"ROLE_WORLD_SIZE", std::to_string(count_ranks(placement, all, node.role))},
        {"MASTER_ADDR", placement.master_addr},
        {"MASTER_PORT", std::to_string(placement.master_port)},
        {"TORCHELASTIC_RESTART_COUNT", std::to_string(placement.attempt)},
        {"TORCHELASTIC_MAX_RESTARTS", std::to_string(placement.max_restarts)},
        {"TORCHELASTIC_RUN_ID", placement.run_id},
        {"TORCHELASTIC_USE_AGENT_STORE", "True"},
    };
    if (!folder.empty()) {
        variables.emplace_back("TORCHELASTIC_ERROR_FILE", error_file_in(folder));
    }
    return variables;
}

}  // namespace

std::vector<WorkerPlan> plan_workers(const Placement& placement,
                                     std::span<const char* const> inherited,
                                     const std::vector<std::string>& folders) {
    const auto node_rank = static_cast<size_t>(placement.node_rank);
    const int local_size = placement.nodes[node_rank].local_size;
    const int first_rank = count_ranks(placement, node_rank, "");
    std::vector<WorkerPlan> plans;
    for (int local_rank = 0; local_rank < local_size; ++local_rank) {
        const auto& folder = folders[static_cast<size_t>(local_rank)];
        auto variables = worker_variables(placement, local_rank, folder);
        WorkerPlan plan{first_rank + local_rank, local_rank, folder, {}};
        for (const std::string_view entry : inherited) {
            const auto name = entry.substr(0, entry.find('='));
            const bool replaced =
                std::any_of(variables.begin(), variables.end(),
                            [&](const auto& variable) { return variable.first == name; });
            if (!replaced) plan.environment.emplace_back(entry);
        }
        // Several processes with a thread for each core would crowd one another out.
        if (local_size > 1 && !has_variable(inherited, "OMP_NUM_THREADS")) {
            variables.emplace_back("OMP_NUM_THREADS", "1");
        }
        if (!has_variable(inherited, "TORCH_NCCL_ASYNC_ERROR_HANDLING")) {
            variables.emplace_back("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
        }
        for (const auto& [name, value] : variables) {
            plan.environment.push_back(cat(name, "=", value));
        }
        plans.push_back(std::move(plan));
    }
    return plans;
}

}  // namespace tutti::launch
