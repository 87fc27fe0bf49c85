// When does a mover move: never while callers do, soon for what was left alone, at once for a
// thread that counts on it?
#include "progress/attention.hpp"

#include <cstdlib>

#include "support/unit.hpp"

namespace {

using namespace tutti;
using Rest = Looks::Rest;

Attention attention_with(const char* progress) {
    ::setenv("TUTTI_PROGRESS", progress, 1);
    const Attention attention;
    ::unsetenv("TUTTI_PROGRESS");
    return attention;
}

constexpr Attention::Seen some{.has_some = true};

Attention::Seen some_after(uint64_t waits) {
    return {.has_some = true, .waits = waits};
}

void what_was_left_alone_for_a_rest_is_moved(void**) {
    Attention attention = attention_with("50");
    Attention::Next next = attention.next(some);
    assert_false(next.moves);
    assert_true(next.rest == Rest(50));
    assert_true(attention.next(some).moves);
    assert_true(attention.next(some).moves);  // and until there is nothing
    next = attention.next({});
    assert_false(next.moves);
    assert_true(next.rest == Rest(50));
    assert_false(attention.next(some).moves);  // it is new
}

void what_callers_wait_for_now_and_then_is_left_to_them(void**) {
    Attention attention = attention_with("50");
    for (uint64_t waits = 1; waits < 100; ++waits) {
        assert_false(attention.next(some_after(waits)).moves);
    }
    assert_true(attention.next(some_after(99)).moves);
}

void while_a_thread_waits_nothing_is_moved(void**) {
    for (const char* const progress : {"50", "0"}) {
        Attention attention = attention_with(progress);
        const Attention::Seen attended{
            .has_some = true, .is_wanted = true, .waiting = 1, .waits = 1};
        for (int look = 0; look < 3; ++look) assert_false(attention.next(attended).moves);
        const Attention::Next next = attention.next(attended);
        assert_false(next.rest.has_value());  // the thread notifies the mover when it leaves
        assert_true(attention.next({.has_some = true, .is_wanted = true, .waits = 1}).moves);
    }
}

void a_thread_that_counts_on_the_mover_gets_it_at_once(void**) {
    Attention attention = attention_with("50");
    assert_true(attention.next({.is_wanted = true}).moves);
    assert_true(attention.next({.has_some = true, .is_wanted = true, .waits = 7}).moves);
}

void it_sleeps_when_there_has_been_nothing_for_a_while(void**) {
    Attention attention = attention_with("50");
    int rests = 0;
    while (attention.next({}).rest) ++rests;
    assert_true(rests > 1 && rests < 30);
    assert_false(attention.next({}).moves);
    assert_true(attention.next({.has_some = true, .is_new = true}).rest == Rest(50));
}

void without_rests_it_moves_what_is_there_at_once(void**) {
    Attention attention = attention_with("0");
    assert_true(attention.next(some).moves);
    const Attention::Next next = attention.next({});
    assert_false(next.moves);
    assert_false(next.rest.has_value());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(what_was_left_alone_for_a_rest_is_moved),
        TUTTI_TEST(what_callers_wait_for_now_and_then_is_left_to_them),
        TUTTI_TEST(while_a_thread_waits_nothing_is_moved),
        TUTTI_TEST(a_thread_that_counts_on_the_mover_gets_it_at_once),
        TUTTI_TEST(it_sleeps_when_there_has_been_nothing_for_a_while),
        TUTTI_TEST(without_rests_it_moves_what_is_there_at_once),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
