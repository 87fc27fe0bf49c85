// Is a segment seen by those who know where it is, and nothing else taken for it?
#include "memory/segment.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "support/limits.hpp"
#include "support/sanitizers.h"
#include "support/unit.hpp"

namespace {

using namespace tutti;
using shm::Address;
using shm::Segment;

constexpr size_t size = 20'000;
constexpr auto read_write = Segment::Access::ReadWrite;

std::string why_not(const Address& address, size_t bytes = size) {
    try {
        const Segment other = Segment::open(address, bytes, read_write);
    } catch (const Error& error) {
        assert_int_equal(error.status().code, TUTTI_ERR_UNSUPPORTED);
        return error.status().message;
    }
    fail_msg("it was opened");
    return "";
}

bool says(const std::string& text, const char* words) {
    return text.find(words) != std::string::npos;
}

int mapped() {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);) count += says(line, "memfd:tutti");
    return count;
}

void what_one_writes_another_reads(void**) {
    const Segment mine = Segment::make(size);
    const Segment theirs = Segment::open(mine.address(), size, read_write);
    assert_ptr_not_equal(mine.data(), theirs.data());
    const std::string zeros(size, '\0');
    assert_memory_equal(theirs.data(), zeros.data(), size);
    std::memset(mine.data(), 7, size);
    assert_memory_equal(theirs.data(), mine.data(), size);
}

void what_is_opened_for_reading_is_not_written(void**) {
    const Segment mine = Segment::make(size);
    const Segment theirs = Segment::open(mine.address(), size, Segment::Access::ReadOnly);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(read(ends[0], theirs.data(), 1), -1);
    assert_int_equal(errno, EFAULT);
    assert_int_equal(read(ends[0], mine.data(), 1), 1);
    assert_memory_equal(theirs.data(), "x", 1);
    close(ends[0]);
    close(ends[1]);
}

void nobody_comes_after_it_was_closed(void**) {
    Segment mine = Segment::make(size);
    const Segment early = Segment::open(mine.address(), size, read_write);
    mine.close();
    why_not(mine.address());
    // The segment that took its number is left alone, whatever it is.
    const int pipe_at = mine.address().descriptor;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[1], pipe_at), pipe_at);
    assert_true(says(why_not(mine.address()), "something else is there"));
    std::memset(mine.data(), 3, size);
    assert_memory_equal(early.data(), mine.data(), size);
    close(pipe_at);
    close(ends[0]);
    if (ends[1] != pipe_at) close(ends[1]);
}

void another_segment_is_not_taken_for_it(void**) {
    const Segment mine = Segment::make(size);
    Address address = mine.address();
    address.mark ^= 1;
    assert_true(says(why_not(address), "it is another one"));
    assert_true(says(why_not(mine.address(), size + 1), "something else is there"));
    address = mine.address();
    address.host ^= 1;
    assert_true(says(why_not(address), "another host"));
    address = mine.address();
    address.process = 0x7fffffff;
    assert_true(says(why_not(address), "cannot be shared: /proc/2147483647"));
    why_not({});
}

void it_cannot_shrink_and_only_its_owner_s_kind_are_opened(void**) {
    const Segment mine = Segment::make(size);
    const int number = mine.address().descriptor;
    assert_int_equal(ftruncate(number, 10), -1);
    assert_int_equal(errno, EPERM);
    // As large, but not sealed.
    const int loose = memfd_create("loose", MFD_CLOEXEC);
    assert_int_equal(ftruncate(loose, size + 4096), 0);
    Address address = mine.address();
    address.descriptor = loose;
    assert_true(says(why_not(address), "it could shrink"));
    close(loose);
}

void nothing_of_it_stays(void**) {
    const int before = mapped();
    {
        const Segment mine = Segment::make(size);
        const Segment theirs = Segment::open(mine.address(), size, read_write);
        assert_int_equal(mapped(), before + 2);
        why_not({.host = mine.address().host, .mark = 0, .process = getpid(), .descriptor = -1});
    }
    assert_int_equal(mapped(), before);
}

void what_is_locked_is_given_up_too(void**) {
    Segment mine = Segment::make_now(size);
    const Segment theirs = Segment::open(mine.address(), size, read_write);
    std::memset(mine.data(), 7, size);
    assert_int_equal(mlock(mine.data(), size), 0);
    mine.give_up();
    const std::string zeros(size, '\0');
    assert_memory_equal(theirs.data(), zeros.data(), size);
}

void too_little_to_make_or_open_one_is_named(void**) {
    const char* const files = "this process may have 3 open files (ulimit -n)";
    const Segment theirs = Segment::make(size);
    {
        const test::NoDescriptors none;
        TUTTI_EXPECT_ERROR(Segment::make(size), TUTTI_ERR_OUT_OF_MEMORY, files);
        TUTTI_EXPECT_ERROR(Segment::open(theirs.address(), size, read_write),
                           TUTTI_ERR_OUT_OF_MEMORY, files);
    }
    if (SANITIZED) return;  // their own memory is beyond any limit
    const char* const space = "this process may have 1024 KiB of address space (ulimit -v)";
    const test::NoAddressSpace none;
    TUTTI_EXPECT_ERROR(Segment::make(size), TUTTI_ERR_OUT_OF_MEMORY, space);
    TUTTI_EXPECT_ERROR(Segment::open(theirs.address(), size, read_write), TUTTI_ERR_OUT_OF_MEMORY,
                       space);
}

// In a child, whose first thread ends while another goes on until the pipe is closed.
[[noreturn]] void make_and_end_the_first_thread(int to_parent, int from_parent) {
    static const Segment mine = Segment::make(size);
    std::memset(mine.data(), 5, size);
    std::thread([=] {
        const Address& address = mine.address();
        char nothing = 0;
        if (write(to_parent, &address, sizeof address) == sizeof address) {
            (void)!read(from_parent, &nothing, 1);
        }
        _exit(0);
    }).detach();
    syscall(SYS_exit, 0);  // this thread alone; what pthread_exit ends with
    _exit(1);
}

bool is_zombie(pid_t process) {
    std::ifstream file(cat("/proc/", process, "/status"));
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("State:")) return line.find('Z') != line.npos;
    }
    return false;
}

void a_process_whose_first_thread_has_ended_shares_its_memory_too(void**) {
    int from_child[2];
    int to_child[2];
    assert_int_equal(pipe(from_child), 0);
    assert_int_equal(pipe(to_child), 0);
    const pid_t child = fork();
    if (child == 0) {
        close(to_child[1]);
        make_and_end_the_first_thread(from_child[1], to_child[0]);
    }
    close(from_child[1]);
    Address address;
    assert_int_equal(read(from_child[0], &address, sizeof address), sizeof address);
    while (!is_zombie(child)) sched_yield();
    {
        const Segment theirs = Segment::open(address, size, Segment::Access::ReadOnly);
        const std::string fives(size, '\5');
        assert_memory_equal(theirs.data(), fives.data(), size);
        assert_true(theirs.lets_read_memory());
    }
    for (const int end : {from_child[0], to_child[0], to_child[1]}) close(end);
    int ended = -1;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
}

// The limit of file sizes counts for memory without a name, too, and raises SIGXFSZ.
void a_limit_of_file_sizes_is_an_error_and_no_signal(void**) {
    const test::LowLimit limit(RLIMIT_FSIZE, 8192);
    TUTTI_EXPECT_ERROR(Segment::make(size), TUTTI_ERR_OUT_OF_MEMORY,
                       "this process may make files of 8 KiB (ulimit -f)");
    TUTTI_EXPECT_ERROR(Segment::make_now(size), TUTTI_ERR_OUT_OF_MEMORY, "(ulimit -f)");
    assert_int_equal(Segment::make(4096).size(), 4096);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(what_one_writes_another_reads),
        TUTTI_TEST(what_is_opened_for_reading_is_not_written),
        TUTTI_TEST(nobody_comes_after_it_was_closed),
        TUTTI_TEST(another_segment_is_not_taken_for_it),
        TUTTI_TEST(it_cannot_shrink_and_only_its_owner_s_kind_are_opened),
        TUTTI_TEST(nothing_of_it_stays),
        TUTTI_TEST(what_is_locked_is_given_up_too),
        TUTTI_TEST(a_process_whose_first_thread_has_ended_shares_its_memory_too),
        TUTTI_TEST(too_little_to_make_or_open_one_is_named),
        TUTTI_TEST(a_limit_of_file_sizes_is_an_error_and_no_signal),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
