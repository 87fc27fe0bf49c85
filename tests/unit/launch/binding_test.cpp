// Which processors is each rank bound to, on machines of several kinds? One thread.
#include "launch/binding.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "support/unit.hpp"

namespace {

using tutti::cat;
using tutti::launch::allowed_processors;
using tutti::launch::BindTo;
using tutti::launch::choose_processors;
using tutti::launch::ProcessorSet;

// A folder that stands for the root of a machine: its files in /sys.
class Machine {
public:
    Machine() { assert_non_null(::mkdtemp(root_.data())); }
    ~Machine() { std::filesystem::remove_all(root_); }
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    void add_core(std::initializer_list<int> processors, const std::string& list,
                  const char* file = "core_cpus_list") const {
        for (const int processor : processors) {
            write(cat("/sys/devices/system/cpu/cpu", processor, "/topology"), file, list);
        }
    }
    void add_node(const std::string& name, const std::string& list) const {
        write("/sys/devices/system/node/" + name, "cpulist", list);
    }
    [[nodiscard]] const std::string& root() const { return root_; }

private:
    void write(const std::string& folder, const char* file, const std::string& text) const {
        std::filesystem::create_directories(root_ + folder);
        std::ofstream(cat(root_, folder, "/", file)) << text << '\n';
    }

    std::string root_ = std::filesystem::temp_directory_path() / "tutti_machine.XXXXXX";
};

ProcessorSet from_0_to(int last) {
    ProcessorSet processors(static_cast<size_t>(last) + 1);
    std::iota(processors.begin(), processors.end(), 0);
    return processors;
}

// "0,1 | 2,3": the processors of each rank.
std::string show(const std::vector<ProcessorSet>& sets) {
    std::string text;
    for (const auto& set : sets) {
        if (!text.empty()) text += " | ";
        for (size_t i = 0; i < set.size(); ++i) text += cat(i == 0 ? "" : ",", set[i]);
    }
    return text;
}

void expect(BindTo bind_to, int ranks, const ProcessorSet& allowed, const Machine& machine,
            const char* wanted) {
    const auto sets = choose_processors(bind_to, ranks, allowed, machine.root());
    assert_string_equal(show(sets).c_str(), wanted);
}

// Four cores of two threads on two nodes; the second threads have the higher numbers.
void make_usual(const Machine& machine) {
    for (int core = 0; core < 4; ++core) {
        machine.add_core({core, core + 4}, cat(core, ",", core + 4));
    }
    machine.add_node("node0", "0-1,4-5");
    machine.add_node("node1", "2-3,6-7");
}

void a_rank_gets_all_threads_of_a_block_of_cores(void**) {
    const Machine machine;
    make_usual(machine);
    expect(BindTo::Core, 4, from_0_to(7), machine, "0,4 | 1,5 | 2,6 | 3,7");
    expect(BindTo::Core, 3, from_0_to(7), machine, "0,4 | 1,5 | 2,3,6,7");
    expect(BindTo::Core, 2, from_0_to(7), machine, "0,1,4,5 | 2,3,6,7");
    expect(BindTo::Core, 1, from_0_to(7), machine, "0,1,2,3,4,5,6,7");
}

void more_ranks_than_cores_are_refused(void**) {
    const Machine machine;
    make_usual(machine);
    TUTTI_EXPECT_ERROR(choose_processors(BindTo::Core, 5, from_0_to(7), machine.root()),
                       TUTTI_ERR_INVALID_ARGUMENT,
                       "5 ranks on this node need a core each, and tuttirun may use 4");
    TUTTI_EXPECT_ERROR(choose_processors(BindTo::Core, 1, {}, machine.root()),
                       TUTTI_ERR_INVALID_ARGUMENT, "does not tell");
}

void only_allowed_processors_count(void**) {
    const Machine machine;
    make_usual(machine);
    expect(BindTo::Core, 2, {1, 5, 6}, machine, "1,5 | 6");
    expect(BindTo::Core, 3, {0, 3, 4, 6}, machine, "0,4 | 3 | 6");
    expect(BindTo::Numa, 2, {1, 5, 6}, machine, "1,5 | 6");
    expect(BindTo::Numa, 2, {1, 4, 5}, machine, "");
}

void neighbouring_cores_are_on_one_node(void**) {
    const Machine machine;
    for (int core = 0; core < 4; ++core) machine.add_core({core}, std::to_string(core));
    machine.add_node("node0", "0,2");
    machine.add_node("node1", "1,3");
    expect(BindTo::Core, 2, from_0_to(3), machine, "0,2 | 1,3");
}

void numbers_may_have_holes(void**) {
    const Machine machine;
    machine.add_core({0, 2}, "0,2", "thread_siblings_list");  // of an older kernel
    machine.add_core({9, 1'030}, "9,1030");
    machine.add_core({12}, "12-13");  // the other is offline
    machine.add_node("node2", "0,2");
    machine.add_node("node10", "9,12-13,1030");
    machine.add_node("node5", "");  // memory alone
    machine.add_node("node_of_nothing", "0-2000");
    const ProcessorSet allowed{0, 2, 9, 12, 1'030};
    expect(BindTo::Core, 3, allowed, machine, "0,2 | 9,1030 | 12");
    expect(BindTo::Numa, 2, allowed, machine, "0,2 | 9,12,1030");
}

void ranks_are_in_blocks_on_nodes(void**) {
    const Machine machine;
    make_usual(machine);
    expect(BindTo::Numa, 5, from_0_to(7), machine,
           "0,1,4,5 | 0,1,4,5 | 0,1,4,5 | 2,3,6,7 | 2,3,6,7");
    expect(BindTo::Numa, 1, from_0_to(7), machine, "0,1,4,5");
}

void a_machine_that_tells_nothing_has_processors(void**) {
    const Machine machine;
    expect(BindTo::Core, 2, {1, 3, 4}, machine, "1 | 3,4");
    expect(BindTo::Numa, 2, {1, 3, 4}, machine, "");
    expect(BindTo::None, 2, {1, 3, 4}, machine, "");
}

void this_machine_has_a_core_for_a_rank(void**) {
    const auto allowed = allowed_processors();
    assert_true(!allowed.empty());
    assert_true(choose_processors(BindTo::Core, 1, allowed) == std::vector<ProcessorSet>{allowed});
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_rank_gets_all_threads_of_a_block_of_cores),
        TUTTI_TEST(more_ranks_than_cores_are_refused),
        TUTTI_TEST(only_allowed_processors_count),
        TUTTI_TEST(neighbouring_cores_are_on_one_node),
        TUTTI_TEST(numbers_may_have_holes),
        TUTTI_TEST(ranks_are_in_blocks_on_nodes),
        TUTTI_TEST(a_machine_that_tells_nothing_has_processors),
        TUTTI_TEST(this_machine_has_a_core_for_a_rank),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
