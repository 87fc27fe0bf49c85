// Does every fault of a call's arguments name the argument, and does a call read well in messages?
#include "call/call.hpp"

#include "call/lower.hpp"

#include "support/collective.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;

void a_root_outside_the_group_is_named(void**) {
    for (const int root : {-1, 4, 1000}) {
        TUTTI_EXPECT_ERROR(check(Collective(Broadcast{{}, root}), 0, 4), TUTTI_ERR_INVALID_ARGUMENT,
                           cat("group_src is ", root, ", but the group's ranks are 0 to 3"));
    }
    for (const int root : {0, 3}) check(Collective(Broadcast{{}, root}), 0, 4);
}

void a_message_to_or_from_nobody_is_named(void**) {
    for (const int rank : {-1, 2}) {
        TUTTI_EXPECT_ERROR(check(Send{{}, rank, 0}, 2), TUTTI_ERR_INVALID_ARGUMENT,
                           cat("group_dst is ", rank, ", but the group's ranks are 0 to 1"));
    }
    for (const int rank : {-2, 2}) {
        TUTTI_EXPECT_ERROR(check(Receive{{}, rank, 0}, 2), TUTTI_ERR_INVALID_ARGUMENT,
                           cat("group_src is ", rank, ", but the group's ranks are 0 to 1"));
    }
    check(Send{{}, 1, 0}, 2);
    check(Receive{{}, any_source, 0}, 2);
    check(Receive{{}, 0, INT32_MAX}, 2);
}

void a_tag_below_zero_is_named(void**) {
    TUTTI_EXPECT_ERROR(check(Send{{}, 1, -1}, 2), TUTTI_ERR_INVALID_ARGUMENT, "tag is -1");
    TUTTI_EXPECT_ERROR(check(Receive{{}, 1, -7}, 2), TUTTI_ERR_INVALID_ARGUMENT, "tag is -7");
}

void input_and_output_that_differ_are_both_shown(void**) {
    float data[4]{};
    const View four{data, 4, TUTTI_FLOAT32};
    const auto fails = [&](const ConstView& input, const std::string& fragment) {
        TUTTI_EXPECT_ERROR(check(AllReduce{input, four, TUTTI_SUM}, 0, 2),
                           TUTTI_ERR_INVALID_ARGUMENT, fragment);
    };
    fails({data, 3, TUTTI_FLOAT32}, "input.count is 3 but output.count is 4");
    fails({data, 4, TUTTI_INT32}, "input.dtype is int32 but output.dtype is float32");
    check(AllReduce{four, four, TUTTI_SUM}, 0, 2);
}

void an_op_that_the_dtype_does_not_allow_is_refused(void**) {
    int64_t data[1]{};
    const View view{data, 1, TUTTI_INT64};
    TUTTI_EXPECT_ERROR(check(Collective(AllReduce{view, view, TUTTI_AVG}), 0, 2),
                       TUTTI_ERR_INVALID_ARGUMENT, "AVG is not defined for int64");
    const View strange{data, 1, 99};
    TUTTI_EXPECT_ERROR(check(Collective(AllReduce{strange, strange, TUTTI_SUM}), 0, 2),
                       TUTTI_ERR_INVALID_ARGUMENT, "99");
    TUTTI_EXPECT_ERROR(check(Collective(AllReduce{view, view, 99}), 0, 2),
                       TUTTI_ERR_INVALID_ARGUMENT, "99");
}

std::string text(const Collective& call, uint64_t number) {
    return describe(fingerprint(call), number);
}

void a_call_reads_well(void**) {
    float data[4]{};
    const View view{data, 4, TUTTI_FLOAT32};
    assert_string_equal(text(AllReduce{view, view, TUTTI_MAX}, 41).c_str(),
                        "all_reduce #41 (float32 × 4, MAX)");
    assert_string_equal(text(Broadcast{view, 2}, 1).c_str(), "broadcast #1 (float32 × 4, root 2)");
    assert_string_equal(text(Barrier{}, UINT64_MAX).c_str(), "barrier #18446744073709551615");
    assert_string_equal(text(Reduce{view, view, TUTTI_AVG, 3}, 2).c_str(),
                        "reduce #2 (float32 × 4, AVG, root 3)");
    assert_string_equal(text(AllGatherIntoTensor{view, view}, 2).c_str(),
                        "all_gather_into_tensor #2 (float32 × 4)");
    assert_string_equal(text(Gather{view, {}, 1}, 2).c_str(), "gather #2 (float32 × 4, root 1)");
    assert_string_equal(text(Scatter{{}, view, 1}, 2).c_str(), "scatter #2 (float32 × 4, root 1)");
    assert_string_equal(text(ReduceScatterTensor{view, view, TUTTI_MIN}, 2).c_str(),
                        "reduce_scatter_tensor #2 (float32 × 4, MIN)");
    assert_string_equal(text(AllToAll{{view}, {view}}, 2).c_str(),
                        "all_to_all #2 (float32 in pieces)");
    assert_string_equal(text(AllToAllSingle{view, view, {}, {}}, 2).c_str(),
                        "all_to_all_single #2 (float32 × 4)");
    assert_string_equal(text(AllToAllSingle{view, view, {4}, {}}, 2).c_str(),
                        "all_to_all_single #2 (float32 in pieces)");
    assert_string_equal(call_name(Collective(Barrier{})), "barrier");
    assert_string_equal(call_name(Collective(Broadcast{})), "broadcast");
    assert_string_equal(call_name(Collective(AllReduce{})), "all_reduce");
    assert_string_equal(call_name(Send{}), "send");
    assert_string_equal(call_name(Receive{}), "recv");
}

void a_call_of_a_stranger_can_be_described(void**) {
    const Fingerprint strange{static_cast<CallKind>(77), 1000, 1000, -5, -1, 0};
    assert_string_equal(describe(strange, 3).c_str(), "unknown operation 77 #3");
    const Fingerprint odd{CallKind::AllReduce, 1000, 1000, -5, -1, 0};
    assert_string_equal(describe(odd, 3).c_str(), "all_reduce #3 (unknown × -1, unknown)");
}

void every_argument_that_ranks_must_share_is_in_the_fingerprint(void**) {
    float data[4]{};
    const View view{data, 4, TUTTI_FLOAT32};
    const auto base = fingerprint(AllReduce{view, view, TUTTI_SUM});
    assert_false(base == fingerprint(AllReduce{view, view, TUTTI_MAX}));
    const View fewer{data, 3, TUTTI_FLOAT32};
    assert_false(base == fingerprint(AllReduce{fewer, fewer, TUTTI_SUM}));
    const View other{data, 4, TUTTI_INT32};
    assert_false(base == fingerprint(AllReduce{other, other, TUTTI_SUM}));
    assert_false(fingerprint(Broadcast{view, 0}) == fingerprint(Broadcast{view, 1}));
    assert_true(base == fingerprint(AllReduce{view, view, TUTTI_SUM}));
}

bool contains(const std::string& text, const std::string& fragment) {
    return text.find(fragment) != std::string::npos;
}

// Their sum alone would not do, nor would the counts in another order.
void the_layout_of_a_list_is_in_the_fingerprint(void**) {
    float data[8]{};
    const View view{data, 8, TUTTI_FLOAT32};
    const auto print = [&](int64_t first) {
        return fingerprint(AllGather{view, {view.part(0, first), view.part(first, 8 - first)}});
    };
    assert_true(print(3) == print(3));
    assert_false(print(3) == print(5));
    assert_int_equal(print(3).count, 8);
    assert_true(contains(describe(print(3), 9), "all_gather #9 (float32 × 8, layout "));
    assert_false(describe(print(3), 9) == describe(print(5), 9));
    const auto reduced = [&](int64_t first) {
        return fingerprint(
            ReduceScatter{{view.part(0, first), view.part(first, 8 - first)}, view, TUTTI_SUM});
    };
    assert_false(reduced(3) == reduced(5));
    assert_true(contains(describe(reduced(3), 9), "reduce_scatter #9 (float32 × 8, SUM, layout "));
}

void what_was_gathered_is_in_the_fingerprint(void**) {
    float data[4]{};
    const View view{data, 4, TUTTI_FLOAT32};
    const FlatCall one = lower(AllReduce{view, view, TUTTI_SUM}, 0, 2);
    const FlatCall two = lower(AllReduce{view, view, TUTTI_MAX}, 0, 2);
    const FlatCall barrier = lower(Barrier{}, 0, 2);
    assert_true(fingerprint(Coalesced{{one, two}}) == fingerprint(Coalesced{{one, two}}));
    assert_false(fingerprint(Coalesced{{one, two}}) == fingerprint(Coalesced{{two, one}}));
    assert_false(fingerprint(Coalesced{{one, two}}) == fingerprint(Coalesced{{one}}));
    assert_false(fingerprint(Coalesced{{one, barrier}}) == fingerprint(Coalesced{{one, one}}));
    assert_true(contains(text(Coalesced{{one, two}}, 3), "coalesced #3 (2 calls, layout "));
}

void a_view_counts_its_bytes_beyond_32_bits(void**) {
    const View view{nullptr, int64_t{3} << 31, TUTTI_COMPLEX128};
    assert_true(view.size() == (size_t{3} << 35));
    assert_true(ConstView(view).size() == view.size());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_root_outside_the_group_is_named),
        TUTTI_TEST(a_message_to_or_from_nobody_is_named),
        TUTTI_TEST(a_tag_below_zero_is_named),
        TUTTI_TEST(input_and_output_that_differ_are_both_shown),
        TUTTI_TEST(an_op_that_the_dtype_does_not_allow_is_refused),
        TUTTI_TEST(a_call_reads_well),
        TUTTI_TEST(a_call_of_a_stranger_can_be_described),
        TUTTI_TEST(every_argument_that_ranks_must_share_is_in_the_fingerprint),
        TUTTI_TEST(the_layout_of_a_list_is_in_the_fingerprint),
        TUTTI_TEST(what_was_gathered_is_in_the_fingerprint),
        TUTTI_TEST(a_view_counts_its_bytes_beyond_32_bits),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
