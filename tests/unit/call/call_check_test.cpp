// Is every fault of a call's lists, counts and memory found, with the argument's name, and nothing
// else refused?
#include "call/call.hpp"
#include "call/overlap_check.hpp"
#include "support/collective.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;

constexpr int ranks = 3;
float memory[64];

View at(int64_t begin, int64_t count, tutti_dtype dtype = TUTTI_FLOAT32) {
    return {memory + begin, count, dtype};
}
ConstViews as_inputs(const Views& views) {
    return {views.begin(), views.end()};
}

#define REFUSED(call, rank, fragment) \
    TUTTI_EXPECT_ERROR(check(call, rank, ranks), TUTTI_ERR_INVALID_ARGUMENT, fragment)

void reduce_checks_its_arguments(void**) {
    check(Reduce{at(0, 4), at(4, 4), TUTTI_SUM, 2}, 0, ranks);
    check(Reduce{at(0, 4), at(0, 4), TUTTI_SUM, 0}, 0, ranks);
    check(Reduce{at(0, 4), {nullptr, 4, TUTTI_FLOAT32}, TUTTI_SUM, 1}, 0, ranks);
    REFUSED((Reduce{at(0, 4), at(4, 4), TUTTI_SUM, 3}), 0, "group_dst is 3");
    REFUSED((Reduce{at(0, 4), at(4, 3), TUTTI_SUM, 0}), 0,
            "input.count is 4 but output.count is 3");
    REFUSED((Reduce{at(0, 4), at(2, 4), TUTTI_SUM, 0}), 0, "overlap");
    REFUSED((Reduce{at(0, 4), at(4, 4), TUTTI_BAND, 0}), 0, "BAND is not defined for float32");
    REFUSED((Reduce{at(0, 4, TUTTI_INT32), at(4, 4), TUTTI_SUM, 0}), 0,
            "input.dtype is int32 but output.dtype is float32");
}

void all_gather_checks_its_arguments(void**) {
    const Views outputs{at(0, 4), at(4, 0), at(4, 6)};
    check(AllGather{at(20, 4), outputs}, 0, ranks);
    check(AllGather{at(4, 6), outputs}, 2, ranks);  // in place
    check(AllGather{at(2, 0), outputs}, 1, ranks);  // nothing overlaps nothing
    REFUSED((AllGather{at(20, 4), {at(0, 4), at(4, 4)}}), 0,
            "output_count is 2, but the group has 3 ranks");
    REFUSED((AllGather{at(20, 4), outputs}), 2, "input.count is 4 but outputs[2].count is 6");
    REFUSED((AllGather{at(0, 4), {at(20, 4), at(4, 0), at(4, 6, TUTTI_INT32)}}), 0,
            "outputs[2].dtype is int32 but input.dtype is float32");
    REFUSED((AllGather{at(20, 4), {at(0, 4), at(4, 2), at(3, 6)}}), 0,
            "outputs[2] overlaps another output");
    REFUSED((AllGather{at(3, 4), outputs}), 0, "input overlaps an output; it must be outputs[0]");
    REFUSED((AllGather{at(4, 6), {at(20, 6), at(4, 6), at(30, 6)}}), 0, "input overlaps an output");
}

void all_gather_into_tensor_checks_its_arguments(void**) {
    check(AllGatherIntoTensor{at(20, 4), at(0, 12)}, 1, ranks);
    check(AllGatherIntoTensor{at(4, 4), at(0, 12)}, 1, ranks);  // in place
    REFUSED((AllGatherIntoTensor{at(20, 4), at(0, 11)}), 1,
            "output.count is 11, not 3 ranks × input.count, which is 4");
    REFUSED((AllGatherIntoTensor{at(20, 4, TUTTI_INT8), at(0, 12)}), 1, "input.dtype is int8");
    REFUSED((AllGatherIntoTensor{at(0, 4), at(0, 12)}), 1, "input and output overlap");
    REFUSED((AllGatherIntoTensor{at(5, 4), at(0, 12)}), 1, "input and output overlap");
}

void gather_and_scatter_check_their_arguments(void**) {
    const Views list{at(0, 4), at(4, 4), at(8, 4)};
    const ConstViews inputs = as_inputs(list);
    check(Gather{at(20, 4), list, 1}, 1, ranks);
    check(Gather{at(4, 4), list, 1}, 1, ranks);  // in place
    check(Gather{at(20, 4), {}, 1}, 2, ranks);
    REFUSED((Gather{at(20, 4), list, -1}), 1, "group_dst is -1");
    REFUSED((Gather{at(20, 4), list, 1}), 2,
            "outputs must be NULL on rank 2, which is not group_dst");
    REFUSED((Gather{at(20, 4), {}, 1}), 1, "output_count is 0, but the group has 3 ranks");
    REFUSED((Gather{at(20, 5), list, 1}), 1, "outputs[0].count is 4 but input.count is 5");
    REFUSED((Gather{at(0, 4), list, 1}), 1, "input overlaps an output; it must be outputs[1]");
    check(Scatter{inputs, at(20, 4), 1}, 1, ranks);
    check(Scatter{inputs, at(4, 4), 1}, 1, ranks);  // in place
    check(Scatter{{}, at(20, 4), 1}, 0, ranks);
    check(Scatter{{at(0, 4), at(0, 4), at(2, 4)}, at(20, 4), 1}, 1, ranks);  // they are only read
    REFUSED((Scatter{inputs, at(20, 4), 3}), 1, "group_src is 3");
    REFUSED((Scatter{inputs, at(20, 4), 1}), 0,
            "inputs must be NULL on rank 0, which is not group_src");
    REFUSED((Scatter{{at(0, 4)}, at(20, 4), 1}), 1, "input_count is 1");
    REFUSED((Scatter{inputs, at(20, 3), 1}), 1, "inputs[0].count is 4 but output.count is 3");
    REFUSED((Scatter{inputs, at(8, 4), 1}), 1, "output overlaps an input; it must be inputs[1]");
}

void reduce_scatter_checks_its_arguments(void**) {
    const ConstViews inputs{at(0, 4), at(4, 0), at(4, 6)};
    check(ReduceScatter{inputs, at(20, 6), TUTTI_SUM}, 2, ranks);
    check(ReduceScatter{inputs, at(4, 6), TUTTI_SUM}, 2, ranks);  // in place
    REFUSED((ReduceScatter{{at(0, 4)}, at(20, 4), TUTTI_SUM}), 0, "input_count is 1");
    REFUSED((ReduceScatter{inputs, at(20, 6), TUTTI_SUM}), 0,
            "output.count is 6 but inputs[0].count is 4");
    REFUSED((ReduceScatter{inputs, at(20, 6), TUTTI_BXOR}), 2, "BXOR is not defined");
    REFUSED((ReduceScatter{inputs, at(6, 6), TUTTI_SUM}), 2, "output overlaps an input");
    REFUSED((ReduceScatter{{at(0, 4), at(4, 2, TUTTI_INT8), at(6, 4)}, at(20, 4), TUTTI_SUM}), 0,
            "inputs[1].dtype is int8 but output.dtype is float32");
    check(ReduceScatterTensor{at(0, 12), at(20, 4), TUTTI_SUM}, 2, ranks);
    check(ReduceScatterTensor{at(0, 12), at(8, 4), TUTTI_SUM}, 2, ranks);  // in place
    REFUSED((ReduceScatterTensor{at(0, 13), at(20, 4), TUTTI_SUM}), 2,
            "input.count is 13, not 3 ranks × output.count, which is 4");
    REFUSED((ReduceScatterTensor{at(0, 12), at(7, 4), TUTTI_SUM}), 2, "input and output overlap");
    REFUSED((ReduceScatterTensor{at(0, 12, TUTTI_INT64), at(40, 4, TUTTI_INT64), TUTTI_AVG}), 2,
            "AVG is not defined for int64");
}

void all_to_all_checks_its_arguments(void**) {
    const Views outputs{at(0, 1), at(1, 2), at(3, 3)};
    const ConstViews inputs{at(20, 5), at(25, 2), at(27, 0)};
    check(AllToAll{inputs, outputs}, 1, ranks);
    check(AllToAll{as_inputs(outputs), outputs}, 0, ranks);  // in place
    check(AllToAll{{at(20, 5), at(20, 2), at(20, 1)}, outputs}, 1, ranks);
    REFUSED((AllToAll{inputs, {at(0, 1)}}), 1, "output_count is 1");
    REFUSED((AllToAll{{at(0, 1)}, outputs}), 1, "input_count is 1");
    REFUSED((AllToAll{inputs, outputs}), 0, "inputs[0].count is 5 but outputs[0].count is 1");
    REFUSED((AllToAll{inputs, {at(0, 1), at(0, 2), at(3, 3)}}), 1,
            "outputs[1] overlaps another output");
    REFUSED((AllToAll{{at(5, 5), at(25, 2), at(27, 0)}, outputs}), 1,
            "inputs[0] overlaps an output");
    REFUSED((AllToAll{inputs, {at(0, 1), at(1, 2), at(3, 3, TUTTI_INT8)}}), 1,
            "outputs[2].dtype is int8 but inputs[1].dtype is float32");
}

void all_to_all_single_checks_its_arguments(void**) {
    check(AllToAllSingle{at(20, 12), at(0, 12), {}, {}}, 1, ranks);
    check(AllToAllSingle{at(0, 12), at(0, 12), {}, {}}, 1, ranks);  // in place
    check(AllToAllSingle{at(20, 12), at(0, 9), {1, 3, 8}, {}}, 1, ranks);
    check(AllToAllSingle{at(20, 12), at(0, 5), {}, {0, 4, 1}}, 1, ranks);
    REFUSED((AllToAllSingle{at(20, 12), at(0, 9), {}, {}}), 1,
            "input.count is 12 but output.count is 9");
    REFUSED((AllToAllSingle{at(20, 10), at(0, 10), {}, {}}), 1,
            "input.count is 10, which 3 ranks cannot share equally");
    REFUSED((AllToAllSingle{at(20, 12), at(0, 12), {1, 2}, {}}), 1, "input_split_count is 2");
    REFUSED((AllToAllSingle{at(20, 12), at(0, 12), {1, 2, 3}, {}}), 1,
            "input_split_sizes add up to 6 but input.count is 12");
    REFUSED((AllToAllSingle{at(20, 12), at(0, 12), {}, {9, 2, 3}}), 1,
            "output_split_sizes add up to more than output.count, which is 12");
    REFUSED((AllToAllSingle{at(20, 12), at(0, 12), {}, {INT64_MAX, INT64_MAX, 3}}), 1,
            "output_split_sizes add up to more than");
    REFUSED((AllToAllSingle{at(20, 12), at(0, 12), {13, -1, 0}, {}}), 1, "input_split_sizes");
    REFUSED((AllToAllSingle{at(20, 12), at(0, 12), {0, -1, 13}, {}}), 1,
            "input_split_sizes[1] is -1");
    REFUSED((AllToAllSingle{at(20, 12), at(0, 12), {6, 3, 3}, {}}), 1,
            "rank 1 gives itself 3 elements of input but expects 4 in output");
    REFUSED((AllToAllSingle{at(6, 12), at(0, 12), {}, {}}), 1, "input and output overlap");
    REFUSED((AllToAllSingle{at(20, 12, TUTTI_INT8), at(0, 12), {}, {}}), 1, "input.dtype is int8");
}

void memory_that_is_not_the_processors_is_named(void**) {
    View device = at(0, 4);
    device.device.type = TUTTI_XPU;
    const std::string text = ".device_type is 12 (xpu): tutti has no backend for these devices";
    const auto refused = [&](const Collective& call, const std::string& name) {
        TUTTI_EXPECT_ERROR(check(call, 0, ranks), TUTTI_ERR_UNSUPPORTED, name + text);
    };
    const View host = at(8, 4);
    const Views list{host, device, at(12, 4)};
    refused(Broadcast{device, 0}, "buffer");
    refused(AllReduce{host, device, TUTTI_SUM}, "output");
    refused(AllReduceAddends{{}, device, TUTTI_SUM}, "output");
    refused(AllReduceAddends{{host, device}, host, TUTTI_SUM}, "inputs[1]");
    refused(Reduce{device, host, TUTTI_SUM, 0}, "input");
    refused(AllGather{host, list}, "outputs[1]");
    refused(AllGatherIntoTensor{device, at(20, 12)}, "input");
    refused(Gather{device, {}, 1}, "input");
    refused(Gather{at(20, 4), list, 0}, "outputs[1]");
    refused(Scatter{{}, device, 1}, "output");
    refused(ReduceScatter{as_inputs(list), host, TUTTI_SUM}, "inputs[1]");
    refused(ReduceScatterTensor{at(20, 12), device, TUTTI_SUM}, "output");
    refused(AllToAll{as_inputs(list), {at(20, 4), at(24, 4), at(28, 4)}}, "inputs[1]");
    refused(AllToAllSingle{at(20, 4), device, {4, 0, 0}, {4, 0, 0}}, "output");
    TUTTI_EXPECT_ERROR(check(Send{device, 1, 0}, ranks), TUTTI_ERR_UNSUPPORTED, "buffer" + text);
    TUTTI_EXPECT_ERROR(check(Receive{device, 1, 0}, ranks), TUTTI_ERR_UNSUPPORTED, "buffer" + text);
    device.device = {TUTTI_CPU, 2};
    REFUSED((Broadcast{device, 0}), 0, "buffer.device_index is 2; it must be 0 for the CPU");
    assert_true(device.part(1, 2).device == device.device);
    assert_true(ConstView(device).part(1, 2).device == device.device);
}

void claims_find_every_overlap_and_no_other(void**) {
    constexpr int64_t length = 12;
    for (int64_t begin = 0; begin < length; ++begin) {
        for (int64_t count = 0; begin + count <= length; ++count) {
            OverlapCheck claims;
            claims.write(at(2, 2).bytes());
            claims.write(at(8, 2).bytes());
            claims.write(at(4, 1).bytes());  // next to the first
            claims.read(at(6, 1).bytes());
            bool written = false;
            bool touched = false;
            for (int64_t index = begin; index < begin + count; ++index) {
                written = written || (index >= 2 && index < 5) || (index >= 8 && index < 10);
                touched = touched || written || index == 6;
            }
            assert_true(claims.may_read(at(begin, count).bytes()) == !written);
            assert_true(claims.may_write(at(begin, count).bytes()) == !touched);
        }
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(reduce_checks_its_arguments),
        TUTTI_TEST(all_gather_checks_its_arguments),
        TUTTI_TEST(all_gather_into_tensor_checks_its_arguments),
        TUTTI_TEST(gather_and_scatter_check_their_arguments),
        TUTTI_TEST(reduce_scatter_checks_its_arguments),
        TUTTI_TEST(all_to_all_checks_its_arguments),
        TUTTI_TEST(all_to_all_single_checks_its_arguments),
        TUTTI_TEST(memory_that_is_not_the_processors_is_named),
        TUTTI_TEST(claims_find_every_overlap_and_no_other),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
