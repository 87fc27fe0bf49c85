// Is every byte of a call on a device copied once to where the CPU's call reads it, and once back?
// Plans are made of all kinds of calls; memory of a device is memory here.
#include "backends/staged/plan.hpp"

#include <algorithm>
#include <vector>

#include "support/unit.hpp"

namespace {

using tutti::Bytes;
using tutti::ConstBytes;
using tutti::FlatCall;
using tutti::staged::Copy;
using tutti::staged::Plan;
using tutti::staged::Stage;
using Kind = FlatCall::Kind;
using Sizes = FlatCall::Sizes;
using Memory = std::vector<std::byte>;

constexpr int ranks = 3;
constexpr int own_rank = 1;
constexpr size_t longer_than_a_stage = (size_t{5} << 20) + 40;

std::byte pattern(size_t index, int salt) {
    return static_cast<std::byte>(index * 7 + index / 4096 + static_cast<size_t>(salt));
}

void fill(Bytes memory, int salt) {
    for (size_t i = 0; i < memory.size(); ++i) memory[i] = pattern(i, salt);
}

void move(const std::vector<Copy>& copies, bool is_in) {
    for (const Copy& one : copies) {
        std::byte* const from = is_in ? one.device : one.host;
        std::copy_n(from, one.bytes, is_in ? one.host : one.device);
    }
}

bool is_within(const std::byte* begin, size_t bytes, const Memory& host) {
    return bytes == 0 || (begin >= host.data() && begin + bytes <= host.data() + host.size());
}

// A call here flips each byte of an input, and writes its number and place to each
// byte of an output.
struct Seen {
    std::vector<Memory> inputs;
    std::vector<size_t> outputs;
};

void look_at(const FlatCall& call, const Memory& host, Seen& seen, size_t& number) {
    for (const ConstBytes input : call.inputs) {
        assert_true(is_within(input.data(), input.size(), host));
        if (seen.inputs.size() <= number) seen.inputs.resize(number + 1);
        Memory& all = seen.inputs[number++];
        all.insert(all.end(), input.begin(), input.end());
    }
    size_t output_number = 0;
    for (const Bytes output : call.outputs) {
        assert_true(is_within(output.data(), output.size(), host));
        if (seen.outputs.size() <= output_number) seen.outputs.resize(output_number + 1);
        size_t& begin = seen.outputs[output_number];
        for (size_t i = 0; i < output.size(); ++i) {
            output[i] = pattern(begin + i, 100 + static_cast<int>(output_number));
        }
        begin += output.size();
        ++output_number;
    }
}

// Runs all stages, and expects all inputs to be seen and all outputs to be written.
void expect_whole(const FlatCall& call) {
    std::vector<Memory> inputs;
    for (const ConstBytes input : call.inputs) inputs.emplace_back(input.begin(), input.end());
    const Plan plan(call, own_rank, ranks);
    Seen seen;
    size_t before = 0;
    for (size_t index = 0; index < plan.stages(); ++index) {
        Memory host(plan.stage_bytes());
        const Stage stage = plan.stage(index, host.data());
        assert_true(stage.call.kind == call.kind && stage.call.inputs.size() == inputs.size());
        assert_true(stage.call.outputs.size() == call.outputs.size());
        for (const Copy& one : stage.in) assert_true(is_within(one.host, one.bytes, host));
        for (const Copy& one : stage.out) assert_true(is_within(one.host, one.bytes, host));
        move(stage.in, true);
        size_t number = 0;
        look_at(stage.call, host, seen, number);
        move(stage.out, false);
        for (const ConstBytes input : stage.call.inputs) before += input.size();
    }
    size_t all = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
        assert_true(seen.inputs[i] == inputs[i]);
        all += inputs[i].size();
    }
    assert_int_equal(before, all);
    int salt = 100;
    for (const Bytes output : call.outputs) {
        for (size_t i = 0; i < output.size(); ++i) assert_true(output[i] == pattern(i, salt));
        ++salt;
    }
}

// A call of these pieces, each in memory of its own.
struct Made {
    std::vector<Memory> memory;
    FlatCall call;
};

Made make(Kind kind, Sizes sizes, const std::vector<size_t>& inputs,
          const std::vector<size_t>& outputs) {
    Made made;
    made.call.kind = kind;
    made.call.sizes = sizes;
    made.memory.reserve(inputs.size() + outputs.size());
    int salt = 0;
    for (const size_t bytes : inputs) {
        Memory& memory = made.memory.emplace_back(bytes);
        fill(memory, salt++);
        made.call.inputs.add(memory);
    }
    for (const size_t bytes : outputs) made.call.outputs.add(made.memory.emplace_back(bytes));
    return made;
}

void every_kind_of_one_piece(void**) {
    for (const size_t bytes :
         {size_t{0}, size_t{1}, size_t{64}, size_t{4096}, longer_than_a_stage}) {
        expect_whole(make(Kind::AllReduce, Sizes::Even, {bytes}, {bytes}).call);
        expect_whole(make(Kind::Reduce, Sizes::Even, {bytes}, {bytes}).call);
        expect_whole(make(Kind::Reduce, Sizes::Even, {bytes}, {}).call);
        expect_whole(make(Kind::Broadcast, Sizes::Even, {bytes}, {}).call);
        expect_whole(make(Kind::Broadcast, Sizes::Even, {}, {bytes}).call);
        expect_whole(make(Kind::AllReduceAddends, Sizes::Even, {}, {bytes}).call);
        expect_whole(
            make(Kind::AllReduceAddends, Sizes::Even, {bytes, bytes, bytes}, {bytes}).call);
    }
}

void every_kind_of_a_piece_for_each_rank(void**) {
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4100}, longer_than_a_stage}) {
        const std::vector<size_t> each(ranks, bytes);
        for (const Sizes sizes : {Sizes::Even, Sizes::Known}) {
            expect_whole(make(Kind::AllGather, sizes, {bytes}, each).call);
            expect_whole(make(Kind::Gather, sizes, {bytes}, each).call);
            expect_whole(make(Kind::Gather, sizes, {bytes}, {}).call);
            expect_whole(make(Kind::Scatter, sizes, each, {bytes}).call);
            expect_whole(make(Kind::Scatter, sizes, {}, {bytes}).call);
            expect_whole(make(Kind::ReduceScatter, sizes, each, {bytes}).call);
            expect_whole(make(Kind::AllToAll, sizes, each, each).call);
        }
    }
}

void pieces_of_different_sizes(void**) {
    const std::vector<size_t> sizes = {70, longer_than_a_stage, 0};
    expect_whole(make(Kind::AllGather, Sizes::Known, {longer_than_a_stage}, sizes).call);
    expect_whole(make(Kind::ReduceScatter, Sizes::Known, sizes, {longer_than_a_stage}).call);
    expect_whole(make(Kind::AllToAll, Sizes::Pairwise, sizes, {3, 0, 999}).call);
}

// Long data need no more memory than a few stages.
void memory_of_a_stage_is_bounded(void**) {
    constexpr size_t most = size_t{5} << 20;
    const std::vector<size_t> each(ranks, size_t{16} << 20);
    for (const Made& made : {make(Kind::AllReduce, Sizes::Even, {each[0]}, {each[0]}),
                             make(Kind::AllGather, Sizes::Known, {each[0]}, each),
                             make(Kind::AllToAll, Sizes::Even, each, each)}) {
        const Plan plan(made.call, own_rank, ranks);
        assert_true(plan.stages() > 2 && plan.stage_bytes() <= most);
    }
}

// Ranks cut alike, whatever they have: their calls meet stage by stage.
void ranks_have_as_many_stages(void**) {
    const size_t bytes = longer_than_a_stage;
    const std::vector<size_t> each(ranks, bytes);
    const Made root = make(Kind::Gather, Sizes::Known, {bytes}, each);
    const Made other = make(Kind::Gather, Sizes::Known, {bytes}, {});
    assert_int_equal(Plan(root.call, 0, ranks).stages(), Plan(other.call, 1, ranks).stages());
    const Made none = make(Kind::AllReduceAddends, Sizes::Even, {}, {bytes});
    const Made some = make(Kind::AllReduceAddends, Sizes::Even, {bytes, bytes}, {bytes});
    assert_int_equal(Plan(none.call, 0, ranks).stages(), Plan(some.call, 1, ranks).stages());
}

// In place there is one place on the CPU, too.
void what_is_in_place_stays_so(void**) {
    Memory memory(ranks * size_t{1000});
    const auto part = [&memory](size_t rank) { return Bytes(memory).subspan(rank * 1000, 1000); };
    FlatCall call;
    call.kind = Kind::AllGather;
    call.inputs.add(part(own_rank));
    for (size_t rank = 0; rank < ranks; ++rank) call.outputs.add(part(rank));
    const Plan plan(call, own_rank, ranks);
    Memory host(plan.stage_bytes());
    const Stage stage = plan.stage(0, host.data());
    assert_ptr_equal(stage.call.inputs[0].data(), stage.call.outputs[own_rank].data());
    assert_int_equal(stage.in.size(), 1);
    assert_int_equal(stage.out.size(), 1);  // parts of one tensor
    assert_int_equal(stage.out[0].bytes, memory.size());
    call = {};
    call.kind = Kind::AllToAll;
    call.in_place = true;
    for (size_t rank = 0; rank < ranks; ++rank) {
        call.inputs.add(part(rank));
        call.outputs.add(part(rank));
    }
    const Plan exchange(call, own_rank, ranks);
    host.resize(exchange.stage_bytes());
    const Stage all = exchange.stage(0, host.data());
    for (size_t rank = 0; rank < ranks; ++rank) {
        assert_ptr_equal(all.call.inputs[rank].data(), all.call.outputs[rank].data());
    }
}

// Parts of a list may be neighbours by chance: one copy over both would leave its allocation.
void pieces_of_a_list_are_copied_one_by_one(void**) {
    Memory memory(ranks * size_t{512});
    FlatCall call;
    call.kind = Kind::AllGather;
    call.sizes = Sizes::Known;
    const auto part = [&memory](size_t rank) { return Bytes(memory).subspan(rank * 512, 512); };
    for (size_t rank = 0; rank < ranks; ++rank) call.outputs.add(part(rank));
    call.inputs.add(part(own_rank));
    const auto copies_out = [](const FlatCall& one) {
        const Plan plan(one, own_rank, ranks);
        Memory host(plan.stage_bytes());
        return plan.stage(0, host.data()).out.size();
    };
    assert_int_equal(copies_out(call), ranks);
    call.kind = Kind::AllToAll;
    call.sizes = Sizes::Pairwise;
    assert_int_equal(copies_out(call), ranks);
    FlatCall coalesced;
    coalesced.kind = Kind::Coalesced;
    for (size_t rank = 0; rank < ranks; ++rank) {
        FlatCall& one = coalesced.calls.emplace_back();
        one.kind = Kind::AllReduce;
        one.inputs.add(part(rank));
        one.outputs.add(part(rank));
    }
    assert_int_equal(copies_out(coalesced), ranks);
    FlatCall addends;
    addends.kind = Kind::AllReduceAddends;
    for (size_t rank = 0; rank < ranks; ++rank) addends.inputs.add(part(rank));
    addends.outputs.add(part(0));
    const Plan plan(addends, own_rank, ranks);
    Memory host(plan.stage_bytes());
    assert_int_equal(plan.stage(0, host.data()).in.size(), ranks);
}

// Calls that are issued as one see each other's memory where it is the same.
void memory_of_calls_that_are_not_cut_lies_as_on_the_device(void**) {
    Memory first(100), second(300);
    fill(first, 1);
    FlatCall coalesced;
    coalesced.kind = Kind::Coalesced;
    coalesced.calls.resize(3);
    for (FlatCall& one : coalesced.calls) one.kind = Kind::AllReduce;
    coalesced.calls[0].inputs.add(Bytes(first));
    coalesced.calls[0].outputs.add(Bytes(first));
    coalesced.calls[1].inputs.add(Bytes(second).first(100));
    coalesced.calls[1].outputs.add(Bytes(second).subspan(200, 100));
    coalesced.calls[2].kind = Kind::Barrier;
    assert_false(Plan::is_cut(coalesced));
    const Plan plan(coalesced, own_rank, ranks);
    assert_int_equal(plan.stages(), 1);
    Memory host(plan.stage_bytes());
    const Stage stage = plan.stage(0, host.data());
    assert_int_equal(stage.call.calls.size(), 3);
    const FlatCall& same = stage.call.calls[0];
    assert_ptr_equal(same.inputs[0].data(), same.outputs[0].data());
    move(stage.in, true);
    assert_memory_equal(same.inputs[0].data(), first.data(), first.size());
    const FlatCall& other = stage.call.calls[1];
    assert_true(is_within(other.inputs[0].data(), 100, host));
    assert_true(is_within(other.outputs[0].data(), 100, host));
    const auto* const end = other.inputs[0].data() + other.inputs[0].size();
    assert_true(end <= other.outputs[0].data() ||
                other.outputs[0].data() + 100 <= other.inputs[0].data());
    assert_true(stage.call.calls[2].inputs.empty());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(every_kind_of_one_piece),
        TUTTI_TEST(every_kind_of_a_piece_for_each_rank),
        TUTTI_TEST(pieces_of_different_sizes),
        TUTTI_TEST(memory_of_a_stage_is_bounded),
        TUTTI_TEST(ranks_have_as_many_stages),
        TUTTI_TEST(what_is_in_place_stays_so),
        TUTTI_TEST(pieces_of_a_list_are_copied_one_by_one),
        TUTTI_TEST(memory_of_calls_that_are_not_cut_lies_as_on_the_device),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
