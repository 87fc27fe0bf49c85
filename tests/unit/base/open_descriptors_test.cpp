// Descriptors opened while a standard stream is closed: the number is not that stream's, also when
// something else of the library's held it for a moment. Each case is a child process.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <memory>

#include "base/first_line.hpp"
#include "base/open_descriptors.hpp"
#include "support/unit.hpp"

namespace tutti::test {

namespace {

int open_something() {
    return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool is_open(int number) {
    return ::fcntl(number, F_GETFD) >= 0;
}

bool none_is_open() {
    return !is_open(STDIN_FILENO) && !is_open(STDOUT_FILENO) && !is_open(STDERR_FILENO);
}

// Whether it holds in a process that has none of 0, 1 and 2.
bool holds_without_standard(const std::function<bool()>& condition) {
    const pid_t child = ::fork();
    if (child == 0) {
        for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) ::close(number);
        _exit(condition() ? 0 : 1);
    }
    int ending = -1;
    return ::waitpid(child, &ending, 0) == child && ending == 0;
}

void what_is_opened_is_above_the_standard_streams(void** /*state*/) {
    assert_true(holds_without_standard([] {
        const StandardPlaceholders held;
        return open_something() > STDERR_FILENO;
    }));
    assert_true(holds_without_standard([] {
        const Opening opening;
        return open_something() > STDERR_FILENO && open_something() > STDERR_FILENO;
    }));
    assert_true(
        holds_without_standard([] { return open_tracked(open_something) > STDERR_FILENO; }));
}

void closed_ones_are_free_after_the_last_holder(void** /*state*/) {
    assert_true(holds_without_standard([] {
        auto first = std::make_unique<StandardPlaceholders>();
        auto second = std::make_unique<StandardPlaceholders>();
        first.reset();
        if (open_something() <= STDERR_FILENO) return false;
        { const Opening opening; }
        if (open_something() <= STDERR_FILENO) return false;
        second.reset();
        return none_is_open();
    }));
}

void a_file_that_the_program_puts_there_stays(void** /*state*/) {
    assert_true(holds_without_standard([] {
        {
            const StandardPlaceholders held;
            if (::dup2(open_something(), STDOUT_FILENO) != STDOUT_FILENO) return false;
        }
        return is_open(STDOUT_FILENO) && !is_open(STDIN_FILENO) && !is_open(STDERR_FILENO);
    }));
}

// Read for a moment, as a file of the system is, and still open when something else is opened.
void a_file_read_for_a_moment_leaves_no_low_number(void** /*state*/) {
    assert_true(holds_without_standard([] {
        auto held = std::make_unique<StandardPlaceholders>();
        auto file = std::make_unique<std::ifstream>("/proc/self/stat");
        const StandardPlaceholders other;
        file.reset();
        held.reset();
        return open_something() > STDERR_FILENO;
    }));
    assert_true(holds_without_standard(
        [] { return !first_line("/proc/self/stat").empty() && none_is_open(); }));
}

void a_child_of_fork_has_them_closed(void** /*state*/) {
    assert_true(holds_without_standard([] {
        const StandardPlaceholders held;
        before_fork();
        const pid_t child = ::fork();
        after_fork();
        if (child == 0) {
            close_in_forked_child();
            _exit(none_is_open() ? 0 : 1);
        }
        int ending = -1;
        return ::waitpid(child, &ending, 0) == child && ending == 0;
    }));
}

}  // namespace

}  // namespace tutti::test

int main() {
    using namespace tutti::test;
    const CMUnitTest tests[] = {
        TUTTI_TEST(what_is_opened_is_above_the_standard_streams),
        TUTTI_TEST(closed_ones_are_free_after_the_last_holder),
        TUTTI_TEST(a_file_that_the_program_puts_there_stays),
        TUTTI_TEST(a_file_read_for_a_moment_leaves_no_low_number),
        TUTTI_TEST(a_child_of_fork_has_them_closed),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
