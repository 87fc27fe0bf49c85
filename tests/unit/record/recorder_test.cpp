// Does a rank leave its last calls, however it ends, and does a record that cannot be had cost
// nothing? Each test in a process of its own: a process has one recorder. Sets environment
// variables.
#include "record/recorder.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "record/place.hpp"
#include "support/temporary_folder.hpp"
#include "support/unit.hpp"

namespace {

namespace fs = std::filesystem;
namespace record = tutti::record;
namespace state = tutti::record::state;
namespace field = tutti::record::field;
using tutti::test::TemporaryFolder;

constexpr const char* entries_variable = "TORCH_FR_BUFFER_SIZE";

// How the process ended that did `act` and then ended with 0.
template <typename Act>
int in_process(Act&& act) {
    const pid_t child = fork();
    if (child == 0) {
        try {
            act();
        } catch (const std::exception& fault) {
            std::fprintf(stderr, "%s\n", fault.what());
            _exit(99);
        }
        std::exit(0);
    }
    int ending = 0;
    assert_int_equal(waitpid(child, &ending, 0), child);
    return ending;
}

// A file of a record, as it was left.
class File {
public:
    explicit File(const std::string& path) {
        std::ostringstream text;
        text << std::ifstream(path).rdbuf();
        bytes_ = text.str();
        assert_true(bytes_.size() >= sizeof(record::Head));
    }
    // Read as words: no address in it needs to be aligned.
    [[nodiscard]] uint64_t word(size_t offset) const {
        uint64_t value = 0;
        std::memcpy(&value, bytes_.data() + offset, sizeof value);
        return value;
    }
    [[nodiscard]] uint64_t entry(uint64_t id, field::Field which) const {
        const uint64_t entries = word(offsetof(record::Head, entries));
        const size_t first = record::file_size(0);
        return word(first + (id % entries) * sizeof(record::Entry) + which * 8);
    }
    [[nodiscard]] std::string text(size_t offset) const { return bytes_.data() + offset; }
    [[nodiscard]] size_t group(size_t slot) const {
        return sizeof(record::Head) + slot * sizeof(record::GroupSlot);
    }
    [[nodiscard]] size_t size() const { return bytes_.size(); }

private:
    std::string bytes_;
};

std::vector<fs::path> files_in(const std::string& folder) {
    std::vector<fs::path> files;
    for (const auto& file : fs::directory_iterator(folder)) files.push_back(file.path());
    return files;
}

std::string only_file_in(const std::string& folder) {
    const auto files = files_in(folder);
    assert_int_equal(files.size(), 1);
    return files.front();
}

record::Note note(uint16_t group, uint8_t kind, int64_t count = 0) {
    record::Note made;
    made.group = group;
    made.kind = kind;
    made.count = count;
    return made;
}

constexpr uint64_t failed_with(int status) {
    return static_cast<uint64_t>(static_cast<int>(state::failed) + status);
}

void a_process_that_was_killed_leaves_its_last_calls(void**) {
    const TemporaryFolder folder;
    setenv(record::folder_variable, folder.path().c_str(), 1);
    const int ending = in_process([] {
        record::turn_on(2, 4);
        const record::GroupRecord group("world", "gloo", 2, 4, {0, 1, 2, 3});
        record::Call first(note(group.slot(), 1, 100), state::scheduled);
        first.start(1, false);
        first.completed();
        record::Call second(note(group.slot(), 2), state::scheduled);
        second.start(2, true);
        raise(SIGKILL);
    });
    assert_true(WIFSIGNALED(ending));
    const File file(only_file_in(folder.path()));
    assert_true(file.word(offsetof(record::Head, magic)) == record::magic);
    assert_true(file.word(offsetof(record::Head, rank)) == 2);
    assert_true(file.word(offsetof(record::Head, world_size)) == 4);
    assert_true(file.word(offsetof(record::Head, exited)) == 0);
    assert_true(file.entry(1, field::id_and_state) == (1 << 8 | state::completed));
    assert_true(file.entry(1, field::sequence) == 1);
    assert_true(file.entry(1, field::count) == 100);
    assert_true(file.entry(1, field::completed) >= file.entry(1, field::created));
    assert_true(file.entry(2, field::id_and_state) == (2 << 8 | state::started));
    assert_true(file.entry(2, field::completed) == 0);
    const size_t group = file.group(1);
    assert_string_equal(file.text(group + offsetof(record::GroupSlot, name)).c_str(), "world");
    assert_true(file.word(group + offsetof(record::GroupSlot, state)) == record::group_state::live);
    assert_true(file.word(group + offsetof(record::GroupSlot, last_enqueued)) == 2);
    assert_true(file.word(group + offsetof(record::GroupSlot, last_completed)) == 1);
}

void an_exception_is_a_failure_with_its_status(void**) {
    const TemporaryFolder folder;
    setenv(record::folder_variable, folder.path().c_str(), 1);
    in_process([] {
        record::turn_on();
        try {
            record::as_call({note(0, 64), state::started}, [](record::Call&) {
                throw tutti::Error(TUTTI_ERR_TIMEOUT, "too late");
            });
        } catch (const tutti::Error&) {
        }
        record::as_call({note(0, 65), state::started},
                        [](record::Call& call) { call.came_from(3); });
        record::Call given_up(note(0, 66), state::started);
    });
    const File file(only_file_in(folder.path()));
    assert_true(file.word(offsetof(record::Head, exited)) == 1);
    assert_true(file.word(offsetof(record::Head, rank)) == UINT64_MAX);
    assert_true(file.entry(1, field::id_and_state) == (1 << 8 | failed_with(TUTTI_ERR_TIMEOUT)));
    assert_true(file.entry(2, field::id_and_state) == (2 << 8 | state::completed));
    assert_true((file.entry(2, field::peer_and_tag) & UINT32_MAX) == 3);
    assert_true(file.entry(3, field::id_and_state) == (3 << 8 | failed_with(TUTTI_ERR_ABORTED)));
}

void the_ring_keeps_the_last_calls_and_no_end_of_a_lost_one(void**) {
    const TemporaryFolder folder;
    setenv(record::folder_variable, folder.path().c_str(), 1);
    setenv(entries_variable, "5", 1);  // 8, in fact
    in_process([] {
        record::turn_on();
        record::Call lost(note(0, 1, 1), state::started);
        for (int i = 2; i <= 20; ++i) {
            record::Call(note(0, 1, i), state::started).completed();
        }
        lost.completed();
        _exit(0);
    });
    unsetenv(entries_variable);
    const File file(only_file_in(folder.path()));
    assert_true(file.word(offsetof(record::Head, entries)) == 8);
    assert_true(file.size() == record::file_size(8));
    assert_true(file.word(offsetof(record::Head, next)) == 21);
    for (uint64_t id = 13; id <= 20; ++id) {
        assert_true(file.entry(id, field::id_and_state) == (id << 8 | state::completed));
        assert_true(file.entry(id, field::count) == id);
    }
}

void no_entries_is_no_record(void**) {
    const TemporaryFolder folder;
    setenv(record::folder_variable, folder.path().c_str(), 1);
    setenv(entries_variable, "0", 1);
    assert_int_equal(in_process([] {
                         record::turn_on(0, 1);
                         record::Call(note(0, 1), state::started).completed();
                         if (record::ring != nullptr || !record::copy().empty()) _exit(1);
                     }),
                     0);
    unsetenv(entries_variable);
    assert_true(files_in(folder.path()).empty());
}

void a_malformed_size_is_named(void**) {
    for (const char* name : {entries_variable, "TORCH_NCCL_TRACE_BUFFER_SIZE"}) {
        setenv(name, "many", 1);
        TUTTI_EXPECT_ERROR(record::turn_on(), TUTTI_ERR_INVALID_ARGUMENT, name);
        unsetenv(name);
    }
}

void a_folder_that_cannot_be_costs_the_file_only(void**) {
    const TemporaryFolder folder;
    const std::string file = folder.file("file");
    std::ofstream(file) << "no folder";
    for (const std::string& place : {file, file + "/below", std::string("/proc/none")}) {
        setenv(record::folder_variable, place.c_str(), 1);
        assert_int_equal(in_process([] {
                             record::turn_on(1, 2);
                             record::Call(note(0, 1), state::started).completed();
                             if (!record::path().empty()) _exit(1);
                             if (record::copy().size() != record::file_size(2048)) _exit(2);
                         }),
                         0);
    }
}

void a_file_that_may_not_grow_costs_the_file_only(void**) {
    const TemporaryFolder folder;
    setenv(record::folder_variable, folder.path().c_str(), 1);
    assert_int_equal(in_process([] {
                         const rlimit small{1000, 1000};
                         setrlimit(RLIMIT_FSIZE, &small);
                         record::turn_on(1, 2);
                         record::Call(note(0, 1), state::started).completed();
                         if (!record::path().empty()) _exit(1);
                     }),
                     0);
    assert_true(files_in(folder.path()).empty());
}

void groups_past_the_table_share_a_slot(void**) {
    const TemporaryFolder folder;
    setenv(record::folder_variable, folder.path().c_str(), 1);
    const int ending = in_process([] {
        record::turn_on(0, 1);
        std::vector<std::unique_ptr<record::GroupRecord>> groups;
        const auto add = [&](const std::string& name) {
            groups.push_back(
                std::make_unique<record::GroupRecord>(name, "shm", 0, 1, std::vector<int>{0}));
            return groups.back()->slot();
        };
        for (size_t i = 1; i < record::group_slots; ++i) {
            if (add("group") != i) _exit(1);
        }
        if (add("one too many") != 0) _exit(2);
        groups[9].reset();
        if (add("in the place of one that ended") != 10) _exit(3);
    });
    assert_int_equal(ending, 0);
}

void a_child_of_fork_has_a_record_of_its_own(void**) {
    const TemporaryFolder folder;
    setenv(record::folder_variable, folder.path().c_str(), 1);
    const int ending = in_process([] {
        record::turn_on(0, 2);
        record::Call(note(0, 1), state::started).completed();
        const pid_t child = fork();
        if (child == 0) {
            if (record::ring != nullptr) _exit(1);
            record::turn_on(1, 2);
            if (record::ring == nullptr || record::ring.load()->head().next != 1) _exit(2);
            _exit(0);
        }
        int how = 0;
        waitpid(child, &how, 0);
        _exit(WEXITSTATUS(how));
    });
    assert_int_equal(ending, 0);
    assert_int_equal(files_in(folder.path()).size(), 2);
}

void files_of_processes_that_ended_are_removed_when_they_are_many(void**) {
    const TemporaryFolder folder;
    pid_t ended = fork();
    if (ended == 0) _exit(0);
    waitpid(ended, nullptr, 0);
    const std::string own = folder.file(tutti::cat("host.", getpid(), ".ring"));
    const std::string other = folder.file("something else");
    for (const std::string& kept : {own, other}) std::ofstream(kept) << "x";
    for (int i = 0; i < 120; ++i) {
        std::ofstream(folder.file(tutti::cat("host", i, ".", ended, ".ring"))) << "x";
    }
    const std::string old = folder.file(tutti::cat("job-", ended));
    fs::create_directory(old);
    fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(25));
    record::clean(folder.path());
    assert_true(fs::exists(own) && fs::exists(other) && !fs::exists(old));
    assert_int_equal(files_in(folder.path()).size(), 102);
}

void a_process_that_ends_well_leaves_nothing_in_the_users_folder(void**) {
    const TemporaryFolder folder;
    unsetenv(record::folder_variable);
    setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
    in_process([] { record::turn_on(0, 1); });
    assert_true(files_in(folder.file("tutti")).empty());
    in_process([] {
        record::turn_on(0, 1);
        record::Call(note(0, 1), state::started).failed({TUTTI_ERR_MISMATCH, -1, 0, ""});
    });
    only_file_in(folder.file("tutti"));
    unsetenv("XDG_RUNTIME_DIR");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_process_that_was_killed_leaves_its_last_calls),
        TUTTI_TEST(an_exception_is_a_failure_with_its_status),
        TUTTI_TEST(the_ring_keeps_the_last_calls_and_no_end_of_a_lost_one),
        TUTTI_TEST(no_entries_is_no_record),
        TUTTI_TEST(a_malformed_size_is_named),
        TUTTI_TEST(a_folder_that_cannot_be_costs_the_file_only),
        TUTTI_TEST(a_file_that_may_not_grow_costs_the_file_only),
        TUTTI_TEST(groups_past_the_table_share_a_slot),
        TUTTI_TEST(a_child_of_fork_has_a_record_of_its_own),
        TUTTI_TEST(files_of_processes_that_ended_are_removed_when_they_are_many),
        TUTTI_TEST(a_process_that_ends_well_leaves_nothing_in_the_users_folder),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
