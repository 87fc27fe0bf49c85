// Is the flat form of every call what backends are promised?
#include "call/lower.hpp"

#include <algorithm>

#include "support/collective.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;
using Kind = FlatCall::Kind;
using Sizes = FlatCall::Sizes;

constexpr int ranks = 3;
float memory[64];

View at(int64_t begin, int64_t count) {
    return {memory + begin, count, TUTTI_FLOAT32};
}

const Views outputs{at(0, 4), at(4, 0), at(4, 6)};
const ConstViews inputs{at(20, 4), at(24, 0), at(24, 6)};

// Where a piece begins, and how many elements it has.
struct Place {
    int64_t begin;
    int64_t count;
    bool operator==(const Place&) const = default;
};
using Places = std::vector<Place>;

template <typename Byte>
Places places(const Pieces<Byte>& pieces) {
    Places result;
    for (const auto piece : pieces) {
        const auto* const begin = reinterpret_cast<const float*>(piece.data());
        result.push_back({begin - memory, static_cast<int64_t>(piece.size() / sizeof(float))});
    }
    return result;
}

void expect(const Collective& call, int rank, Kind kind, Sizes sizes, const Places& given,
            const Places& taken) {
    const FlatCall flat = lower(Collective(call), rank, ranks);
    assert_true(flat.kind == kind);
    assert_true(flat.sizes == sizes);
    assert_true(places(flat.inputs) == given);
    assert_true(places(flat.outputs) == taken);
    assert_true(flat.fingerprint == fingerprint(call));
    assert_int_equal(flat.root, flat.fingerprint.root);
    assert_int_equal(flat.dtype, TUTTI_FLOAT32);
    assert_true(flat.device == Device{});
    assert_string_equal(call_name(flat), call_name(call));
}

void only_what_a_rank_reads_or_writes_is_there(void**) {
    expect(Broadcast{at(8, 2), 1}, 1, Kind::Broadcast, Sizes::Even, {{8, 2}}, {});
    expect(Broadcast{at(8, 2), 1}, 0, Kind::Broadcast, Sizes::Even, {}, {{8, 2}});
    const Reduce reduce{at(8, 2), at(10, 2), TUTTI_MAX, 2};
    expect(reduce, 2, Kind::Reduce, Sizes::Even, {{8, 2}}, {{10, 2}});
    expect(reduce, 0, Kind::Reduce, Sizes::Even, {{8, 2}}, {});
    const Views alike{at(0, 4), at(4, 4), at(8, 4)};
    expect(Gather{at(20, 4), alike, 1}, 1, Kind::Gather, Sizes::Known, {{20, 4}},
           {{0, 4}, {4, 4}, {8, 4}});
    expect(Gather{at(20, 4), {}, 1}, 0, Kind::Gather, Sizes::Known, {{20, 4}}, {});
    expect(Scatter{{alike.begin(), alike.end()}, at(20, 4), 1}, 1, Kind::Scatter, Sizes::Known,
           {{0, 4}, {4, 4}, {8, 4}}, {{20, 4}});
    expect(Scatter{{}, at(20, 4), 1}, 0, Kind::Scatter, Sizes::Known, {}, {{20, 4}});
}

void lists_and_tensors_are_one_kind(void**) {
    const Places thirds{{0, 2}, {2, 2}, {4, 2}};
    expect(AllGather{at(30, 4), outputs}, 0, Kind::AllGather, Sizes::Known, {{30, 4}},
           {{0, 4}, {4, 0}, {4, 6}});
    expect(AllGatherIntoTensor{at(30, 2), at(0, 6)}, 0, Kind::AllGather, Sizes::Even, {{30, 2}},
           thirds);
    expect(ReduceScatter{inputs, at(40, 6), TUTTI_SUM}, 2, Kind::ReduceScatter, Sizes::Known,
           {{20, 4}, {24, 0}, {24, 6}}, {{40, 6}});
    expect(ReduceScatterTensor{at(0, 6), at(40, 2), TUTTI_SUM}, 2, Kind::ReduceScatter, Sizes::Even,
           thirds, {{40, 2}});
    expect(AllToAll{inputs, outputs}, 0, Kind::AllToAll, Sizes::Pairwise,
           {{20, 4}, {24, 0}, {24, 6}}, {{0, 4}, {4, 0}, {4, 6}});
    expect(AllToAllSingle{at(30, 6), at(0, 6), {}, {}}, 0, Kind::AllToAll, Sizes::Even,
           {{30, 2}, {32, 2}, {34, 2}}, thirds);
    expect(AllToAllSingle{at(30, 6), at(0, 6), {2, 0, 4}, {}}, 0, Kind::AllToAll, Sizes::Pairwise,
           {{30, 2}, {30, 0}, {32, 4}}, thirds);
}

void an_all_to_all_says_whether_it_is_in_place(void**) {
    const auto in_place = [](Collective call) { return lower(std::move(call), 0, ranks).in_place; };
    assert_false(in_place(AllToAll{inputs, outputs}));
    assert_true(in_place(AllToAll{{outputs.begin(), outputs.end()}, outputs}));
    assert_false(in_place(AllToAllSingle{at(30, 6), at(0, 6), {}, {}}));
    assert_true(in_place(AllToAllSingle{at(0, 6), at(0, 6), {2, 0, 4}, {2, 4, 0}}));
}

void what_only_some_calls_have_is_kept(void**) {
    FlatCall flat = lower(AllReduce{at(0, 2), at(0, 2), TUTTI_AVG}, 0, ranks);
    assert_true(flat.op == TUTTI_AVG);
    ReduceOp exact = TUTTI_SUM;
    exact.make_reproducible();
    flat = lower(AllReduceAddends{{inputs.begin(), inputs.end()}, at(0, 4), exact}, 0, ranks);
    assert_true(flat.op.is_reproducible());
    assert_int_equal(flat.inputs.size(), 3);
    const Alloc alloc{100};
    flat = lower(alloc, 0, ranks);
    assert_ptr_equal(flat.alloc->outcome.get(), alloc.outcome.get());
    assert_int_equal(flat.alloc->bytes, 100);
    ByteStrings byte_strings;
    byte_strings.pattern = ByteStrings::Pattern::Gather;
    byte_strings.root = 2;
    flat = lower(byte_strings, 0, ranks);
    assert_true(flat.kind == Kind::ByteStrings);
    assert_true(flat.byte_strings->pattern == ByteStrings::Pattern::Gather);
    assert_int_equal(flat.root, 2);
    assert_string_equal(call_name(flat), "gather_object");
    Coalesced two;
    two.calls.push_back(lower(Barrier{}, 0, ranks));
    two.calls.push_back(lower(Broadcast{at(0, 2), 1}, 0, ranks));
    const Fingerprint print = fingerprint(two);
    flat = lower(std::move(two), 0, ranks);
    assert_int_equal(flat.calls.size(), 2);
    assert_true(flat.calls[1].kind == Kind::Broadcast);
    assert_true(flat.fingerprint == print);
}

// Also behind the number that needs no memory, and in copies.
void any_number_of_pieces_stays_in_order(void**) {
    std::byte bytes[20]{};
    for (const bool is_reserved : {false, true}) {
        for (size_t count = 0; count <= std::size(bytes); ++count) {
            Pieces<std::byte> pieces;
            if (is_reserved) pieces.reserve(count);
            for (size_t index = 0; index < count; ++index) pieces.add({bytes + index, index});
            const Pieces<std::byte> copied = pieces;
            const Pieces<std::byte> moved = std::move(pieces);
            for (const auto* const one : {&copied, &moved}) {
                assert_int_equal(one->size(), count);
                assert_int_equal(one->empty(), count == 0);
                const std::span<const Bytes> all = *one;
                assert_int_equal(all.size(), count);
                for (size_t index = 0; index < count; ++index) {
                    assert_ptr_equal(all[index].data(), bytes + index);
                    assert_int_equal((*one)[index].size(), index);
                }
                assert_ptr_equal(one->first().data(), count > 0 ? bytes : nullptr);
            }
        }
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(only_what_a_rank_reads_or_writes_is_there),
        TUTTI_TEST(lists_and_tensors_are_one_kind),
        TUTTI_TEST(an_all_to_all_says_whether_it_is_in_place),
        TUTTI_TEST(what_only_some_calls_have_is_kept),
        TUTTI_TEST(any_number_of_pieces_stays_in_order),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
