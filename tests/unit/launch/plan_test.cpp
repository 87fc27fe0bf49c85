// Does every worker of every node find its place, and are processors and GPUs counted? One thread.
#include "launch/plan.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "launch/processors.hpp"
#include "support/unit.hpp"

namespace {

using tutti::launch::count_gpus;
using tutti::launch::Placement;
using tutti::launch::WorkerPlan;

// The values of `name` in the environments of all workers of a node, joined by spaces.
std::string values(const std::vector<WorkerPlan>& plans, const std::string& name) {
    std::string found;
    const auto start = name + "=";
    for (const auto& plan : plans) {
        for (const auto& entry : plan.environment) {
            if (entry.starts_with(start)) found.append(entry, name.size() + 1).append(" ");
        }
    }
    return found;
}

std::vector<WorkerPlan> plan_of(Placement placement, int node_rank,
                                const std::vector<std::string>& folders) {
    const std::array<const char*, 3> inherited{"KEPT=yes", "RANK=stale", "RANKLE=kept"};
    placement.node_rank = node_rank;
    return plan_workers(placement, inherited, folders);
}

void expect_values(const std::vector<WorkerPlan>& plans, const char* name, const char* wanted) {
    assert_string_equal(values(plans, name).c_str(), wanted);
}

void ranks_follow_the_sizes_and_roles_of_the_nodes(void**) {
    Placement placement;
    placement.nodes = {{"a", {{"reader", 2}}}, {"b", {{"trainer", 1}}}, {"c", {{"reader", 3}}}};
    placement.master_addr = std::string("alpha");
    placement.master_port = 7;
    placement.attempt = 1;
    placement.max_restarts = 2;
    const auto plans = plan_of(placement, 2, {"/l/0", std::string(), "/l/2"});
    assert_int_equal(plans.size(), 3);
    assert_int_equal(plans[1].rank, 4);
    assert_int_equal(plans[1].local_rank, 1);
    expect_values(plans, "RANK", "3 4 5 ");
    expect_values(plans, "LOCAL_RANK", "0 1 2 ");
    expect_values(plans, "GROUP_RANK", "2 2 2 ");
    expect_values(plans, "ROLE_RANK", "2 3 4 ");
    expect_values(plans, "ROLE_WORLD_SIZE", "5 5 5 ");
    expect_values(plans, "LOCAL_WORLD_SIZE", "3 3 3 ");
    expect_values(plans, "WORLD_SIZE", "6 6 6 ");
    expect_values(plans, "GROUP_WORLD_SIZE", "3 3 3 ");
    expect_values(plans, "MASTER_ADDR", "alpha alpha alpha ");
    expect_values(plans, "MASTER_PORT", "7 7 7 ");
    expect_values(plans, "TORCHELASTIC_RESTART_COUNT", "1 1 1 ");
    expect_values(plans, "TORCHELASTIC_MAX_RESTARTS", "2 2 2 ");
    expect_values(plans, "TORCHELASTIC_ERROR_FILE", "/l/0/error.json /l/2/error.json ");
    expect_values(plans, "OMP_NUM_THREADS", "1 1 1 ");
    expect_values(plans, "TORCH_NCCL_ASYNC_ERROR_HANDLING", "1 1 1 ");
    expect_values(plans, "KEPT", "yes yes yes ");
    expect_values(plans, "RANKLE", "kept kept kept ");
    const auto alone = plan_of(placement, 1, {std::string()});
    expect_values(alone, "RANK", "2 ");
    expect_values(alone, "ROLE_RANK", "0 ");
    expect_values(alone, "ROLE_NAME", "trainer ");
    expect_values(alone, "ROLE_WORLD_SIZE", "1 ");
    expect_values(alone, "OMP_NUM_THREADS", "");
}

void ranks_follow_the_programs_of_a_node(void**) {
    Placement placement;
    placement.nodes = {{"a", {{"default", 1}, {"simulation", 2}}},
                       {"b", {{"simulation", 1}, {"default", 2}, {"simulation", 1}, {"", 1}}}};
    const auto plans = plan_of(placement, 1, {"/0", "/1", "/2", "/3", "/4"});
    std::string programs;
    for (const auto& plan : plans) programs += std::to_string(plan.program);
    assert_string_equal(programs.c_str(), "01123");
    assert_string_equal(plans[3].folder.c_str(), "/3");
    assert_true(plans[3].rank == 6 && plans[3].local_rank == 3);
    expect_values(plans, "RANK", "3 4 5 6 7 ");
    expect_values(plans, "WORLD_SIZE", "8 8 8 8 8 ");
    expect_values(plans, "LOCAL_RANK", "0 1 2 3 4 ");
    expect_values(plans, "LOCAL_WORLD_SIZE", "5 5 5 5 5 ");
    expect_values(plans, "GROUP_RANK", "1 1 1 1 1 ");
    expect_values(plans, "ROLE_NAME", "simulation default default simulation  ");
    expect_values(plans, "ROLE_RANK", "2 1 2 3 0 ");
    expect_values(plans, "ROLE_WORLD_SIZE", "4 3 3 4 1 ");
    expect_values(plans, "TORCHELASTIC_ERROR_FILE",
                  "/0/error.json /1/error.json /2/error.json /3/error.json /4/error.json ");
    placement.nodes = {{"a", {{"default", 1}, {"default", 1}}}};
    expect_values(plan_of(placement, 0, {"", ""}), "OMP_NUM_THREADS", "1 1 ");
    expect_values(plan_of(placement, 0, {"", ""}), "ROLE_RANK", "0 1 ");
}

void gpus_are_counted_by_their_files_or_by_what_is_visible(void**) {
    std::string folder = std::filesystem::temp_directory_path() / "tutti_gpus.XXXXXX";
    assert_non_null(::mkdtemp(folder.data()));
    for (const char* name : {"nvidia0", "nvidia13", "nvidiactl", "nvidia-uvm", "nvidia", "null"}) {
        const std::ofstream file(tutti::cat(folder, "/", name));
    }
    assert_int_equal(count_gpus(folder, std::nullopt), 2);
    assert_int_equal(count_gpus(folder, ""), 0);
    assert_int_equal(count_gpus(folder, "0,3,5"), 3);
    assert_int_equal(count_gpus(folder, "GPU-1b7c,-1,0"), 1);
    assert_int_equal(count_gpus(folder, "-1"), 0);
    std::filesystem::remove_all(folder);
    assert_int_equal(count_gpus(folder, std::nullopt), 0);
}

void the_number_of_processes_is_counted_or_given(void**) {
    using tutti::launch::parse_process_count;
    assert_int_equal(parse_process_count("3", "N"), 3);
    assert_true(parse_process_count("cpu", "N") >= 1);
    ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
    assert_int_equal(parse_process_count("auto", "N"), parse_process_count("cpu", "N"));
    TUTTI_EXPECT_ERROR(parse_process_count("gpu", "N"), TUTTI_ERR_INVALID_ARGUMENT,
                       "N is \"gpu\", and there is none");
    ::setenv("CUDA_VISIBLE_DEVICES", "2,3", 1);
    assert_int_equal(parse_process_count("auto", "N"), 2);
    assert_int_equal(parse_process_count("gpu", "N"), 2);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(ranks_follow_the_sizes_and_roles_of_the_nodes),
        TUTTI_TEST(ranks_follow_the_programs_of_a_node),
        TUTTI_TEST(gpus_are_counted_by_their_files_or_by_what_is_visible),
        TUTTI_TEST(the_number_of_processes_is_counted_or_given),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
