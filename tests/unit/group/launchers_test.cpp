// Do processes find their place from what Open MPI, MPICH, Intel MPI and Slurm tell them? One
// thread; the environments are made up from what these launchers document.
#include "group/launchers.hpp"

#include <map>

#include "support/unit.hpp"

namespace {

using tutti::first_host;
using Variables = std::map<std::string, std::string>;

std::optional<tutti::LaunchPlace> place(const Variables& variables) {
    return tutti::place_by_launcher([&](const char* name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        if (found == variables.end()) return std::nullopt;
        return found->second;
    });
}

void expect_place(const Variables& variables, const char* launcher, int rank, int world_size,
                  const char* master) {
    const auto found = place(variables);
    assert_true(found.has_value());
    assert_string_equal(found->launcher, launcher);
    assert_int_equal(found->rank, rank);
    assert_int_equal(found->world_size, world_size);
    assert_string_equal(found->master_addr.c_str(), master);
}

const Variables slurm{{"SLURM_PROCID", "5"},
                      {"SLURM_STEP_NUM_TASKS", "8"},
                      {"SLURM_JOB_ID", "4711"},
                      {"SLURM_STEP_ID", "0"},
                      {"SLURM_JOB_NODELIST", "node[03-04]"}};

Variables with(Variables variables, const Variables& more) {
    for (const auto& [name, value] : more) variables[name] = value;
    return variables;
}

void without_a_launcher_there_is_no_place(void**) {
    assert_false(place({}).has_value());
    assert_false(place({{"SLURM_PROCID", "0"}}).has_value());
    assert_false(place({{"SLURM_NTASKS", "4"}, {"PMI_SIZE", "4"}}).has_value());
    // Inside an allocation, but not started by srun.
    assert_false(place({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}).has_value());
    assert_false(place({{"SLURM_JOB_ID", "4711"}, {"SLURM_NTASKS", "4"}}).has_value());
}

void slurm_tells_the_first_host(void**) {
    expect_place(slurm, "Slurm", 5, 8, "node03");
    // A step may have fewer ranks and hosts than its job.
    expect_place(with(slurm, {{"SLURM_STEP_NUM_TASKS", "6"}, {"SLURM_STEP_NODELIST", "node04"}}),
                 "Slurm", 5, 6, "node04");
    expect_place(with(slurm, {{"SLURM_STEP_NUM_NODES", "1"}}), "Slurm", 5, 8, "127.0.0.1");
}

void mpirun_tells_rank_and_size(void**) {
    expect_place({{"OMPI_COMM_WORLD_RANK", "1"},
                  {"OMPI_COMM_WORLD_SIZE", "4"},
                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}},
                 "Open MPI", 1, 4, "127.0.0.1");
    expect_place({{"OMPI_COMM_WORLD_RANK", "1"},
                  {"OMPI_COMM_WORLD_SIZE", "4"},
                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}},
                 "Open MPI", 1, 4, "");
    expect_place({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}}, "PMI", 0, 2,
                 "127.0.0.1");
}

void mpirun_inside_an_allocation_of_slurm_is_mpirun(void**) {
    expect_place(with(slurm, {{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "3"}}),
                 "Open MPI", 2, 3, "node03");
    expect_place(with(slurm, {{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}}), "PMI", 2, 3, "node03");
}

void jobs_have_ports_of_their_own(void**) {
    const int port = place(slurm)->master_port;
    assert_in_range(port, 20'000, 28'999);
    assert_int_equal(place(with(slurm, {{"SLURM_PROCID", "0"}}))->master_port, port);
    assert_int_not_equal(place(with(slurm, {{"SLURM_STEP_ID", "1"}}))->master_port, port);
    assert_int_not_equal(place(with(slurm, {{"SLURM_JOB_ID", "4712"}}))->master_port, port);
    assert_int_equal(place({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}})->master_port, 29'500);
}

void a_malformed_variable_is_named(void**) {
    TUTTI_EXPECT_ERROR(place(with(slurm, {{"SLURM_PROCID", "five"}})), TUTTI_ERR_INVALID_ARGUMENT,
                       "environment variable SLURM_PROCID is \"five\"");
    TUTTI_EXPECT_ERROR(place({{"PMI_RANK", "0"}, {"PMI_SIZE", "0"}}), TUTTI_ERR_INVALID_ARGUMENT,
                       "environment variable PMI_SIZE is \"0\"");
    TUTTI_EXPECT_ERROR(place(with(slurm, {{"SLURM_JOB_NODELIST", "node[1-2"}})),
                       TUTTI_ERR_INVALID_ARGUMENT, "\"node[1-2\", has an open bracket");
}

void the_first_host_is_read_from_slurms_lists(void**) {
    assert_string_equal(first_host("alpha").c_str(), "alpha");
    assert_string_equal(first_host("alpha,beta").c_str(), "alpha");
    assert_string_equal(first_host("node[07-09,12],login").c_str(), "node07");
    assert_string_equal(first_host("node[3]").c_str(), "node3");
    assert_string_equal(first_host("node[3,5]").c_str(), "node3");
    assert_string_equal(first_host("node[1-2].cluster,x").c_str(), "node1.cluster");
    assert_string_equal(first_host("rack[1-2]node[3-4]").c_str(), "rack1node3");
    assert_string_equal(first_host("alpha,node[1-2]").c_str(), "alpha");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(without_a_launcher_there_is_no_place),
        TUTTI_TEST(slurm_tells_the_first_host),
        TUTTI_TEST(mpirun_tells_rank_and_size),
        TUTTI_TEST(mpirun_inside_an_allocation_of_slurm_is_mpirun),
        TUTTI_TEST(jobs_have_ports_of_their_own),
        TUTTI_TEST(a_malformed_variable_is_named),
        TUTTI_TEST(the_first_host_is_read_from_slurms_lists),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
