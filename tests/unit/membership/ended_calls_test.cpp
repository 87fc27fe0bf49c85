// Calls that have ended well, and the failure of a later one.
#include "members.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

const Status cause{TUTTI_ERR_BACKEND, 0, 0, "a word"};

void end_calls(Membership& group, std::initializer_list<uint64_t> calls) {
    for (const uint64_t call : calls) group.ended(call);
}

void a_failure_waits_for_the_calls_before_it(void**) {
    Members members(3);
    end_calls(*members[0], {1, 2, 3});
    members[0]->report(cause);  // of call 4
    end_calls(*members[1], {1, 2, 3});
    assert_string_equal(members[1].failure().message.c_str(), "a word");

    Membership& late = *members[2];
    assert_string_equal(late.await_failure(ample()).message.c_str(), "a word");
    assert_false(late.trouble(2).ok());
    assert_true(late.trouble_in(3, 2).ok());
    assert_false(late.trouble_in(4, 2).ok());
    end_calls(late, {3, 1});  // in any order
    assert_int_equal(members[2].failures(), 0);
    assert_true(late.end_of_calls().ok());
    end_calls(late, {2});
    assert_int_equal(members[2].failures(), 1);
    assert_false(late.end_of_calls().ok());
}

void a_failure_of_an_earlier_call_is_told_instead(void**) {
    Members members(3);
    end_calls(*members[0], {1, 2, 3});
    members[0]->report(cause);
    members[2]->await_failure(ample());
    end_calls(*members[1], {1});
    members[1]->report({TUTTI_ERR_TIMEOUT, 1, 0, "the earlier one"});
    end_calls(*members[2], {1});
    assert_string_equal(members[2].failure().message.c_str(), "the earlier one");
    assert_int_equal(members[2].failures(), 1);
}

void a_rank_that_has_failed_itself_has_no_call_left(void**) {
    Members members(2);
    end_calls(*members[0], {1, 2});
    members[0]->report(cause);
    members[1]->await_failure(ample());
    members[1]->report({TUTTI_ERR_TIMEOUT, 0, 0, "too late"});
    assert_false(members[1]->trouble_in(1, 1).ok());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_failure_waits_for_the_calls_before_it),
        TUTTI_TEST(a_failure_of_an_earlier_call_is_told_instead),
        TUTTI_TEST(a_rank_that_has_failed_itself_has_no_call_left),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
