// The words of ranks in decisions, as texts: what is encoded is decoded.
#include "group/votes.hpp"

#include "support/unit.hpp"

namespace {

using namespace tutti;

void a_call_has_its_argument(void**) {
    const auto call = CallOfMany::decode(CallOfMany{"shrink_group", "1 3", "no\nflags"}.encode());
    assert_string_equal(call.function.c_str(), "shrink_group");
    assert_string_equal(call.argument.c_str(), "1 3");
    assert_string_equal(call.refusal.c_str(), "no\nflags");
    assert_string_equal(CallOfMany::decode("agree").argument.c_str(), "");
    assert_string_equal(CallOfMany::decode("agree").refusal.c_str(), "");
}

void an_earlier_call_counts_only_if_it_is_the_same(void**) {
    const CallOfMany agrees{"group_agree", "5"};
    assert_true(agrees.accepts({"group_agree", "5"}));
    assert_false(agrees.accepts({"group_agree", "4"}));
    assert_false(agrees.accepts({"shrink_group", "5"}));
    assert_false(agrees.accepts({"group_agree", "5", "flags is NULL"}));
    assert_true((CallOfMany{"shrink_group", "0 1"}.accepts({"shrink_group", "1 1"})));
}

void the_terms_of_a_shrink_come_back(void**) {
    for (const bool has_failed : {false, true}) {
        const auto terms = ShrinkTerms::decode(ShrinkTerms{has_failed, 65536}.encode());
        assert_int_equal(terms.has_failed, has_failed);
        assert_int_equal(terms.min_size, 65536);
    }
}

void a_vote_says_why_not(void**) {
    assert_true(Vote::decode(Vote{}.encode()).why_not.ok());
    const Status why_not{TUTTI_ERR_BACKEND, 3, 12, "rank 3 gave up:  no memory\nat all"};
    const Status read = Vote::decode(Vote{why_not}.encode()).why_not;
    assert_int_equal(read.code, why_not.code);
    assert_int_equal(read.rank, why_not.rank);
    assert_int_equal(read.system_errno, why_not.system_errno);
    assert_string_equal(read.message.c_str(), why_not.message.c_str());
    assert_int_equal(Vote::decode("all came").why_not.code, TUTTI_ERR_NETWORK);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_call_has_its_argument),
        TUTTI_TEST(a_vote_says_why_not),
        TUTTI_TEST(an_earlier_call_counts_only_if_it_is_the_same),
        TUTTI_TEST(the_terms_of_a_shrink_come_back),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
