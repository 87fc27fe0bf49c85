// Does the right rank move, to the right processor, and not too often? One thread.
#include "backends/shm/placement.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>
#include <vector>

#include "support/unit.hpp"

namespace {

int affinity_calls = 0;

using std::chrono::milliseconds;
using tutti::shm::better_processor;
using tutti::shm::move_to;
using tutti::shm::Placement;

cpu_set_t processors(std::initializer_list<int> numbers) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int number : numbers) CPU_SET(number, &set);
    return set;
}

// -1: it stays.
int better(int rank, const std::vector<int>& of_ranks, const cpu_set_t& allowed) {
    return better_processor(rank, of_ranks, allowed).value_or(-1);
}

void the_highest_of_too_many_moves(void**) {
    const cpu_set_t both = processors({0, 1});
    assert_int_equal(better(3, {0, 1, 1, 1}, both), 0);
    assert_int_equal(better(2, {0, 1, 1, 1}, both), -1);
    assert_int_equal(better(0, {0, 1, 1, 1}, both), -1);
    assert_int_equal(better(2, {1, 1, 1, 0}, both), 0);
    assert_int_equal(better(3, {1, 1, 1, 1}, both), 0);
    assert_int_equal(better(0, {1}, both), -1);
}

void one_more_is_not_too_many(void**) {
    const cpu_set_t both = processors({0, 1});
    for (int rank = 0; rank < 4; ++rank) assert_int_equal(better(rank, {0, 1, 0, 1}, both), -1);
    for (int rank = 0; rank < 3; ++rank) assert_int_equal(better(rank, {0, 1, 1}, both), -1);
}

void it_goes_where_there_are_least_and_where_it_may(void**) {
    const std::vector<int> of_ranks{0, 0, 0, 0, 1, 1, 3};
    assert_int_equal(better(3, of_ranks, processors({0, 1, 2, 3})), 2);
    assert_int_equal(better(3, of_ranks, processors({0, 1, 3})), 3);
    assert_int_equal(better(3, of_ranks, processors({0, 1})), 1);
    assert_int_equal(better(3, of_ranks, processors({0})), -1);
}

void what_is_no_processor_counts_nowhere(void**) {
    const cpu_set_t both = processors({0, 1});
    assert_int_equal(better(1, {0, 0, -1, CPU_SETSIZE}, both), 1);
    assert_int_equal(better(2, {0, 0, -1, CPU_SETSIZE}, both), -1);
    assert_int_equal(better(3, {0, 0, -1, CPU_SETSIZE}, both), -1);
    assert_int_equal(better(1, {0, 0}, cpu_set_t{}), -1);
}

cpu_set_t allowed_here() {
    cpu_set_t allowed;
    assert_int_equal(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
    return allowed;
}

void moving_leaves_what_is_allowed(void**) {
    const cpu_set_t before = allowed_here();
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
        assert_int_equal(move_to(processor), CPU_ISSET(processor, &before) != 0);
        const cpu_set_t after = allowed_here();
        assert_true(CPU_EQUAL(&before, &after));
    }
}

void who_moves_often_moves_ever_more_rarely(void**) {
    const cpu_set_t allowed = allowed_here();
    if (CPU_COUNT(&allowed) < 2) {
        print_message("skipped: this process may run on one processor only\n");
        skip();
    }
    int crowded = 0;
    while (!CPU_ISSET(crowded, &allowed)) ++crowded;
    const std::vector<int> of_ranks{crowded, crowded};
    Placement placement;
    auto now = Placement::Clock::now();
    assert_false(placement.look(0, of_ranks, now));
    assert_true(placement.look(1, of_ranks, now));
    for (const int stay : {1, 2, 4, 8, 16, 32, 64, 128, 128, 128}) {
        assert_false(placement.look(1, of_ranks, now + milliseconds(stay) - milliseconds(1)));
        now += milliseconds(stay);
        assert_true(placement.look(1, of_ranks, now));
    }
    now += milliseconds(256);
    assert_true(placement.look(1, of_ranks, now));
    assert_true(placement.look(1, of_ranks, now + milliseconds(1)));
}

// Two ranks on one processor, this thread's first.
std::vector<int> crowd(const cpu_set_t& allowed) {
    int crowded = 0;
    while (!CPU_ISSET(crowded, &allowed)) ++crowded;
    return {crowded, crowded};
}

void bound_is_who_lacks_a_processor_of_the_start(void**) {
    using tutti::shm::is_bound;
    const cpu_set_t all = processors({0, 1, 2});
    assert_false(is_bound(all, all));
    assert_true(is_bound(processors({0, 1}), all));
    assert_true(is_bound(processors({3, 4, 5}), all));
    assert_false(is_bound(processors({0, 1, 2, 3}), all));
    assert_false(is_bound(all, processors({})));
}

void a_thread_that_was_bound_is_left_where_it_is(void**) {
    const cpu_set_t allowed = allowed_here();
    cpu_set_t at_start = allowed;
    Placement free(true, at_start);
    CPU_SET(CPU_SETSIZE - 1, &at_start);
    if (CPU_EQUAL(&allowed, &at_start)) CPU_CLR(CPU_SETSIZE - 1, &at_start);
    Placement bound(true, at_start);
    const int calls_before = affinity_calls;
    assert_false(bound.look(1, crowd(allowed)));
    assert_int_equal(affinity_calls, calls_before);
    assert_int_equal(free.look(1, crowd(allowed)), CPU_COUNT(&allowed) > 1);
}

void a_thread_bound_to_less_than_the_process_had_is_never_moved(void**) {
    const cpu_set_t before = allowed_here();
    if (CPU_COUNT(&before) < 2) {
        print_message("skipped: this process may run on one processor only\n");
        skip();
    }
    cpu_set_t fewer = before;
    int first = 0;
    while (!CPU_ISSET(first, &before)) ++first;
    CPU_CLR(first, &fewer);
    assert_int_equal(::sched_setaffinity(0, sizeof fewer, &fewer), 0);
    const int calls_before = affinity_calls;
    Placement placement;
    assert_false(placement.look(1, crowd(fewer)));
    assert_int_equal(affinity_calls, calls_before);
    assert_int_equal(::sched_setaffinity(0, sizeof before, &before), 0);
    assert_true(placement.look(1, crowd(before)));
    assert_true(affinity_calls > calls_before + 1);
}

void the_environment_switches_it_off(void**) {
    using tutti::shm::may_move_by_environment;
    assert_int_equal(::unsetenv("TUTTI_PLACEMENT"), 0);
    assert_true(may_move_by_environment());
    assert_int_equal(::setenv("TUTTI_PLACEMENT", "1", 1), 0);
    assert_true(may_move_by_environment());
    assert_int_equal(::setenv("TUTTI_PLACEMENT", "0", 1), 0);
    assert_false(may_move_by_environment());
    for (const char* nonsense : {"2", "-1", "off", "0 "}) {
        assert_int_equal(::setenv("TUTTI_PLACEMENT", nonsense, 1), 0);
        TUTTI_EXPECT_ERROR(may_move_by_environment(), TUTTI_ERR_INVALID_ARGUMENT,
                           "TUTTI_PLACEMENT");
    }
    assert_int_equal(::unsetenv("TUTTI_PLACEMENT"), 0);
    Placement placement(false);
    const int calls_before = affinity_calls;
    for (int wait = 0; wait < 640; ++wait) assert_false(placement.is_due());
    assert_false(placement.look(1, crowd(allowed_here())));
    assert_int_equal(affinity_calls, calls_before);
}

void it_is_due_now_and_then(void**) {
    Placement placement;
    int due = 0;
    for (int wait = 0; wait < 640; ++wait) due += placement.is_due() ? 1 : 0;
    assert_int_equal(due, 10);
}

}  // namespace

// Instead of the C library's, for the library too: counts.
extern "C" int sched_setaffinity(pid_t thread, size_t size, const cpu_set_t* set) noexcept {
    ++affinity_calls;
    return static_cast<int>(::syscall(SYS_sched_setaffinity, thread, size, set));
}

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(the_highest_of_too_many_moves),
        TUTTI_TEST(one_more_is_not_too_many),
        TUTTI_TEST(it_goes_where_there_are_least_and_where_it_may),
        TUTTI_TEST(what_is_no_processor_counts_nowhere),
        TUTTI_TEST(moving_leaves_what_is_allowed),
        TUTTI_TEST(who_moves_often_moves_ever_more_rarely),
        TUTTI_TEST(bound_is_who_lacks_a_processor_of_the_start),
        TUTTI_TEST(a_thread_that_was_bound_is_left_where_it_is),
        TUTTI_TEST(a_thread_bound_to_less_than_the_process_had_is_never_moved),
        TUTTI_TEST(the_environment_switches_it_off),
        TUTTI_TEST(it_is_due_now_and_then),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
