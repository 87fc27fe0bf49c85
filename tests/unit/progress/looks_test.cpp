// When does a thread look for what others have left?
#include "progress/looks.hpp"

#include <cstdlib>

#include "base/error.hpp"
#include "support/unit.hpp"

namespace {

using tutti::Looks;
using Rest = Looks::Rest;

Looks looks_with(const char* progress) {
    ::setenv("TUTTI_PROGRESS", progress, 1);
    const Looks looks;
    ::unsetenv("TUTTI_PROGRESS");
    return looks;
}

void looks_become_rarer_while_others_do_it_all(void**) {
    Looks looks = looks_with("50");
    assert_true(looks.next(true) == Rest(50));
    assert_true(looks.next(true) == Rest(100));
    for (int look = 0; look < 100; ++look) static_cast<void>(looks.next(true));
    assert_true(looks.next(true) == Rest(800));
    looks.found_something();
    assert_true(looks.next(true) == Rest(50));
}

void something_long_shortens_the_next_rest(void**) {
    Looks looks = looks_with("50");
    assert_false(looks.shorten());  // the thread has not rested yet
    assert_true(looks.next(true) == Rest(50));
    looks.found_something();
    assert_true(looks.next(true) == Rest(50));
    assert_true(looks.next(true) == Rest(100));
    assert_true(looks.shorten());
    assert_true(looks.next(true) == Rest(50));
    assert_false(looks.shorten());  // one look at a time
}

// Looks so early until one was not passed over.
int posts_until_an_early_look(Looks& looks) {
    for (int posts = 1;; ++posts) {
        static_cast<void>(looks.next(true));
        if (looks.shorten()) return posts;
    }
}

void early_looks_for_nothing_become_rare(void**) {
    Looks looks = looks_with("50");
    for (int look = 0; look < 10; ++look) static_cast<void>(looks.next(true));
    for (const int posts : {1, 2, 4, 8, 16, 32, 64, 64}) {
        assert_int_equal(posts_until_an_early_look(looks), posts);
        assert_false(looks.shorten());  // it comes already
        assert_true(looks.next(true) == Rest(50));
        assert_true(looks.next(true) == Rest(100));  // it was for nothing
        for (int look = 0; look < 10; ++look) static_cast<void>(looks.next(true));
    }
    looks.found_something();
    assert_true(looks.next(true) == Rest(50));
    assert_true(looks.next(true) == Rest(100));
    assert_int_equal(posts_until_an_early_look(looks), 1);
}

void without_anything_the_thread_sleeps_after_a_while(void**) {
    Looks looks = looks_with("50");
    Rest all{0};
    int count = 0;
    for (; const auto rest = looks.next(false); ++count) all += *rest;
    assert_true(all >= Rest(1000) && all < Rest(1900));
    assert_true(count > 4);
    assert_true(looks.next(true) == Rest(50));  // woken
}

void a_thread_that_is_woken_for_each_work_never_looks(void**) {
    Looks looks = looks_with("0");
    assert_true(looks.are_off());
    assert_false(looks.next(true).has_value());
    assert_false(looks_with("1").are_off());
}

void a_wrong_variable_is_named(void**) {
    for (const char* const wrong : {"-1", "fast", "60000001"}) {
        TUTTI_EXPECT_ERROR(looks_with(wrong), TUTTI_ERR_INVALID_ARGUMENT, "TUTTI_PROGRESS");
    }
    ::unsetenv("TUTTI_PROGRESS");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(looks_become_rarer_while_others_do_it_all),
        TUTTI_TEST(something_long_shortens_the_next_rest),
        TUTTI_TEST(early_looks_for_nothing_become_rare),
        TUTTI_TEST(without_anything_the_thread_sleeps_after_a_while),
        TUTTI_TEST(a_thread_that_is_woken_for_each_work_never_looks),
        TUTTI_TEST(a_wrong_variable_is_named),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
