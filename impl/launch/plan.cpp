// torchrun's environment for each worker. One node today: with more, node_rank and node_count come
// from the options, and everything else follows. Any thread, no side effects.
#include "plan.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.hpp"

namespace tutti::launch {

namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

bool has_variable(std::span<const char* const> environment, const std::string& name) {
    const auto start = name + "=";
    return std::any_of(environment.begin(), environment.end(), [&](const char* entry) {
        return std::string_view(entry).starts_with(start);
    });
}

Variables worker_variables(const Options& options, int local_rank, int store_port) {
    constexpr int node_rank = 0;
    constexpr int node_count = 1;
    const auto local_size = std::to_string(options.nproc_per_node);
    const auto world_size = std::to_string(node_count * options.nproc_per_node);
    const auto rank = std::to_string(node_rank * options.nproc_per_node + local_rank);
    return {
        {"RANK", rank},
        {"LOCAL_RANK", std::to_string(local_rank)},
        {"GROUP_RANK", std::to_string(node_rank)},
        {"ROLE_RANK", rank},
        {"ROLE_NAME", "default"},
        {"LOCAL_WORLD_SIZE", local_size},
        {"WORLD_SIZE", world_size},
        {"GROUP_WORLD_SIZE", std::to_string(node_count)},
        {"ROLE_WORLD_SIZE", world_size},
        {"MASTER_ADDR", options.master_addr},
        {"MASTER_PORT", std::to_string(store_port)},
        {"TORCHELASTIC_RESTART_COUNT", "0"},
        {"TORCHELASTIC_MAX_RESTARTS", "0"},
        {"TORCHELASTIC_RUN_ID", "none"},
        {"TORCHELASTIC_USE_AGENT_STORE", "True"},
    };
}

}  // namespace

std::vector<WorkerPlan> plan_workers(const Options& options, std::span<const char* const> inherited,
                                     int store_port) {
    std::vector<WorkerPlan> plans;
    for (int local_rank = 0; local_rank < options.nproc_per_node; ++local_rank) {
        auto variables = worker_variables(options, local_rank, store_port);
        WorkerPlan plan;
        plan.rank = local_rank;
        for (const std::string_view entry : inherited) {
            const auto name = entry.substr(0, entry.find('='));
            const bool replaced =
                std::any_of(variables.begin(), variables.end(),
                            [&](const auto& variable) { return variable.first == name; });
            if (!replaced) plan.environment.emplace_back(entry);
        }
        // Several processes with a thread for each core would crowd one another out.
        if (options.nproc_per_node > 1 && !has_variable(inherited, "OMP_NUM_THREADS")) {
            variables.emplace_back("OMP_NUM_THREADS", "1");
        }
        for (const auto& [name, value] : variables) {
            plan.environment.push_back(cat(name, "=", value));
        }
        plans.push_back(std::move(plan));
    }
    return plans;
}

}  // namespace tutti::launch
