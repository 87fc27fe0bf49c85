// Is the tightest limit found, of whichever version and level? One thread; files in a folder.
#include "base/control_group.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "support/temporary_folder.hpp"
#include "support/unit.hpp"

namespace {

using tutti::memory_limit;
using tutti::memory_room;
using tutti::process_limit;
using tutti::processor_quota;

constexpr uint64_t gibibyte = uint64_t{1} << 30;

using Files = std::map<std::string, std::string>;  // what stands in them, by path

// A system's files, under a root of their own.
class System {
public:
    explicit System(const Files& files) {
        for (const auto& [name, text] : files) {
            const std::filesystem::path path = root() + name;
            std::filesystem::create_directories(path.parent_path());
            std::ofstream(path) << text << '\n';
        }
    }
    [[nodiscard]] const std::string& root() const { return folder_.path(); }

private:
    tutti::test::TemporaryFolder folder_;
};

void without_groups_nothing_is_limited(void**) {
    const Files unlimited[] = {
        {},
        {{"/proc/self/cgroup", "0::/a/b"}},
        {{"/proc/self/cgroup", "0::/"},
         {"/sys/fs/cgroup/memory.max", "max"},
         {"/sys/fs/cgroup/memory.current", "5"},
         {"/sys/fs/cgroup/cpu.max", "max 100000"}},
        {{"/proc/self/cgroup", "4:memory:/\n3:cpu:/"},
         {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712"},
         {"/sys/fs/cgroup/memory/memory.usage_in_bytes", "5"},
         {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1"},
         {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"}},
        {{"/proc/self/cgroup", "nonsense\n::\n0:\n1:cpu\n0::a\n"},
         {"/sys/fs/cgroup/cpu.max", "1 2"}},
    };
    for (const Files& files : unlimited) {
        const System system(files);
        assert_true(memory_room(system.root()).bytes == UINT64_MAX);
        assert_true(memory_room(system.root()).group == 0);
        assert_true(std::isinf(processor_quota(system.root())));
    }
}

void a_limit_of_version_2_is_found_on_every_level(void**) {
    for (const std::string level : {"", "/outer", "/outer/in: ner"}) {
        const std::string folder = "/sys/fs/cgroup" + level;
        const System system({{"/proc/self/cgroup", "0::/outer/in: ner"},
                             {folder + "/memory.max", "1073741824"},
                             {folder + "/memory.current", "1000000"},
                             {folder + "/memory.stat",
                              "anon 7\ninactive_file 300000\n"
                              "active_file 100000\nslab 5"},
                             {folder + "/cpu.max", "150000 100000"}});
        assert_true(memory_room(system.root()).bytes == gibibyte - 600000);
        assert_true(memory_room(system.root()).group != 0);
        assert_true(processor_quota(system.root()) == 1.5);
    }
}

void a_limit_of_version_1_is_found_too(void**) {
    const System system(
        {{"/proc/self/cgroup", "9:name=systemd:/x\n4:memory:/job\n1:cpu,cpuacct:/job/step\n0::/"},
         {"/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1073741824"},
         {"/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1000000"},
         {"/sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 400000"},
         {"/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000"},
         {"/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000"}});
    assert_true(memory_room(system.root()).bytes == gibibyte - 600000);
    assert_true(processor_quota(system.root()) == 0.5);
}

void the_group_is_the_one_that_leaves_least(void**) {
    std::map<std::string, std::string> files{
        {"/sys/fs/cgroup/a/memory.max", "2000"},   {"/sys/fs/cgroup/a/memory.current", "1500"},
        {"/sys/fs/cgroup/a/b/memory.max", "1000"}, {"/sys/fs/cgroup/a/b/memory.current", "100"},
        {"/sys/fs/cgroup/a/c/memory.max", "400"},  {"/sys/fs/cgroup/a/c/memory.current", "0"}};
    files["/proc/self/cgroup"] = "0::/a/b";
    const System system(files);
    const auto of_b = memory_room(system.root());
    const auto seen_from = [&](const char* path) {
        std::ofstream(system.root() + "/proc/self/cgroup") << "0::" << path << '\n';
        return memory_room(system.root());
    };
    const auto of_a = seen_from("/a");
    const auto of_c = seen_from("/a/c");
    assert_true(of_a.bytes == 500 && of_b.bytes == 500 && of_c.bytes == 400);
    assert_true(of_a.group == of_b.group && of_a.group != of_c.group);
}

void more_than_the_limit_leaves_nothing(void**) {
    const System system({{"/proc/self/cgroup", "0::/../../elsewhere"},
                         {"/sys/fs/cgroup/memory.max", "1000"},
                         {"/sys/fs/cgroup/memory.current", "2000"},
                         {"/sys/fs/cgroup/memory.stat", "inactive_file 10"}});
    assert_true(memory_room(system.root()).bytes == 0);
}

void the_group_with_the_least_room_for_processes_is_named(void**) {
    const System second({{"/proc/self/cgroup", "0::/job/inner"},
                         {"/sys/fs/cgroup/job/inner/pids.max", "max"},
                         {"/sys/fs/cgroup/job/inner/pids.current", "5"},
                         {"/sys/fs/cgroup/job/pids.max", "20"},
                         {"/sys/fs/cgroup/job/pids.current", "19"},
                         {"/sys/fs/cgroup/pids.max", "100"},
                         {"/sys/fs/cgroup/pids.current", "40"}});
    const auto limit = process_limit(second.root());
    assert_true(limit.has_value());
    assert_string_equal(limit->group.c_str(), (second.root() + "/sys/fs/cgroup/job").c_str());
    assert_string_equal(limit->name.c_str(), "pids.max");
    assert_true(limit->most == 20 && limit->taken == 19 && limit->room() == 1);
    const System first({{"/proc/self/cgroup", "8:pids:/a\n4:memory:/b"},
                        {"/sys/fs/cgroup/pids/a/pids.max", "7"},
                        {"/sys/fs/cgroup/pids/a/pids.current", "9"},
                        {"/sys/fs/cgroup/memory/b/memory.limit_in_bytes", "4096"},
                        {"/sys/fs/cgroup/memory/b/memory.usage_in_bytes", "1024"}});
    assert_true(process_limit(first.root())->room() == 0);
    assert_false(process_limit(first.root())->has_refused);
    const System refusing({{"/proc/self/cgroup", "8:pids:/a"},
                           {"/sys/fs/cgroup/pids/a/pids.max", "7"},
                           {"/sys/fs/cgroup/pids/a/pids.current", "3"},
                           {"/sys/fs/cgroup/pids/a/pids.events", "max 2"}});
    assert_true(process_limit(refusing.root())->has_refused);
    const System others({{"/proc/self/cgroup", "8:pids:/a"},
                         {"/sys/fs/cgroup/pids/a/pids.max", "7"},
                         {"/sys/fs/cgroup/pids/a/pids.current", "3"},
                         {"/sys/fs/cgroup/pids/a/pids.events", "max 2"},
                         {"/sys/fs/cgroup/pids/a/pids.events.local", "max 0"}});
    assert_false(process_limit(others.root())->has_refused);
    assert_string_equal(memory_limit(first.root())->name.c_str(), "memory.limit_in_bytes");
    assert_true(memory_limit(first.root())->most == 4096);
    assert_false(process_limit(System({}).root()).has_value());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(without_groups_nothing_is_limited),
        TUTTI_TEST(a_limit_of_version_2_is_found_on_every_level),
        TUTTI_TEST(a_limit_of_version_1_is_found_too),
        TUTTI_TEST(the_group_is_the_one_that_leaves_least),
        TUTTI_TEST(more_than_the_limit_leaves_nothing),
        TUTTI_TEST(the_group_with_the_least_room_for_processes_is_named),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
