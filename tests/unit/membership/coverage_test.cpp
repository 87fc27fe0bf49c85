// Ranks that answer for others, as a function of which ranks watch which.
#include "membership/coverage.hpp"

#include <set>
#include <utility>
#include <vector>

#include "support/unit.hpp"

namespace {

using namespace tutti::membership;
using Changes = std::vector<std::pair<int, int>>;

Changes update(Coverage& coverage, const std::set<int>& members) {
    coverage.note_change();
    return coverage.update([&](int rank) { return members.contains(rank); });
}

void both_have_to_watch_each_other(void**) {
    Coverage coverage(3, nobody);
    const std::set<int> all{0, 1, 2};
    coverage.set_watched(0, {1, 2});
    assert_true(update(coverage, all).empty());
    coverage.set_watched(2, {0});
    assert_true((update(coverage, all) == Changes{{2, 0}}));
    coverage.set_watched(1, {0});
    assert_true((update(coverage, all) == Changes{{1, 0}}));
    coverage.set_watched(2, {});
    assert_true((update(coverage, all) == Changes{{2, nobody}}));
    assert_int_equal(coverage.watcher_of(0), nobody);
    assert_int_equal(coverage.watcher_of(1), 0);
}

void nothing_changes_without_news(void**) {
    Coverage coverage(2, nobody);
    coverage.set_watched(0, {1});
    coverage.set_watched(1, {0});
    assert_int_equal(coverage.update([](int) { return true; }).size(), 1);
    assert_true(coverage.update([](int) { return false; }).empty());
}

void the_rank_that_coordinates_answers_for_itself(void**) {
    Coverage coverage(3, 1);
    assert_true((update(coverage, {0, 1, 2}) == Changes{{1, 1}}));
    coverage.set_watched(1, {2});
    coverage.set_watched(2, {1});
    assert_true((update(coverage, {0, 1, 2}) == Changes{{2, 1}}));
    assert_true((update(coverage, {0, 2}) == Changes{{1, nobody}, {2, nobody}}));
}

// A rank that answers for others must be heard itself.
void none_is_covered_by_one_that_is_covered(void**) {
    Coverage coverage(4, nobody);
    coverage.set_watched(0, {1});
    coverage.set_watched(1, {0, 2, 3});
    coverage.set_watched(2, {1, 3});
    coverage.set_watched(3, {1, 2});
    assert_true((update(coverage, {0, 1, 2, 3}) == Changes{{1, 0}, {3, 2}}));
    assert_true((update(coverage, {1, 2, 3}) == Changes{{1, nobody}, {2, 1}, {3, 1}}));
    assert_true((update(coverage, {2, 3}) == Changes{{2, nobody}, {3, 2}}));
    assert_true((update(coverage, {3}) == Changes{{3, nobody}}));
}

void ranks_that_are_none_are_passed_over(void**) {
    Coverage coverage(2, nobody);
    coverage.set_watched(1, {-1, 5, 1, 0});
    coverage.set_watched(0, {1, 77});
    assert_true((update(coverage, {0, 1}) == Changes{{1, 0}}));
    assert_true(coverage.watches(0, 77));
    assert_false(coverage.watches(7, 0));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(both_have_to_watch_each_other),
        TUTTI_TEST(nothing_changes_without_news),
        TUTTI_TEST(the_rank_that_coordinates_answers_for_itself),
        TUTTI_TEST(none_is_covered_by_one_that_is_covered),
        TUTTI_TEST(ranks_that_are_none_are_passed_over),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
