// Which ranks a debugger holds, by what several ranks say of them.
#include "membership/pauses.hpp"

#include <set>
#include <vector>

#include "support/unit.hpp"

namespace {

using tutti::membership::Pauses;

void a_rank_is_paused_as_long_as_anybody_says_so(void**) {
    Pauses pauses;
    assert_false(pauses.set(1, 1, false));
    assert_true(pauses.set(1, 1, true));
    assert_false(pauses.set(1, 0, true));
    assert_false(pauses.set(1, 1, true));
    assert_false(pauses.set(1, 1, false));
    assert_true(pauses.contains(1) && !pauses.contains(0));
    assert_false(pauses.set(1, 2, false));
    assert_true(pauses.set(1, 0, false));
    assert_false(pauses.contains(1));
}

void what_a_rank_has_said_ends_with_it(void**) {
    Pauses pauses;
    for (const int rank : {1, 2, 3}) pauses.set(rank, 0, true);
    pauses.set(2, 2, true);
    assert_true((pauses.all() == std::set<int>{1, 2, 3}));
    assert_true((pauses.forget(0) == std::vector<int>{1, 3}));
    assert_true(pauses.forget(0).empty());
    assert_true((pauses.all() == std::set<int>{2}));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_rank_is_paused_as_long_as_anybody_says_so),
        TUTTI_TEST(what_a_rank_has_said_ends_with_it),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
