// Do two ranks that disagree about the size of what one gives the other both learn it?
#include <atomic>
#include <functional>

#include "algorithm/algorithm.hpp"
#include "patterns.hpp"
#include "run_call.hpp"
#include "unit/transport/ranks.hpp"

namespace {

using namespace tutti;
using namespace tutti::algorithm;
using namespace tutti::test;

// The end of every rank's call; a rank that fails tells the others, as a group does.
std::vector<Status> ends_of(ChannelWorld& world, const std::function<void(int rank)>& call) {
    std::vector<Status> ends(static_cast<size_t>(world.size()));
    on_ranks(world.size(), [&](int rank) {
        try {
            call(rank);
        } catch (const Error& error) {
            ends[static_cast<size_t>(rank)] = error.status();
            Status cause = error.status();
            if (cause.code == TUTTI_ERR_TIMEOUT) cause.code = TUTTI_ERR_ABORTED;
            world[rank].membership().report(cause);
        }
    });
    return ends;
}

// Counts of int32 that rank `from` gives rank `to`, and that `to` expects.
using CountOf = std::function<int64_t(int from, int to)>;

std::vector<Status> exchange_all(ChannelWorld& world, const CountOf& given,
                                 const CountOf& expected) {
    return ends_of(world, [&](int rank) {
        std::vector<std::vector<int32_t>> memory;
        ConstViews inputs;
        Views outputs;
        for (int other = 0; other < world.size(); ++other) {
            for (const int64_t count : {given(rank, other), expected(other, rank)}) {
                memory.emplace_back(static_cast<size_t>(count));
            }
            inputs.emplace_back(memory[memory.size() - 2].data(), given(rank, other), TUTTI_INT32);
            outputs.push_back({memory.back().data(), expected(other, rank), TUTTI_INT32});
        }
        run_call(world[rank], AllToAll{inputs, outputs}, 1, ample());
    });
}

void a_piece_of_another_size_is_a_mismatch_on_both_sides(void**) {
    struct Case {
        int64_t given;
        int64_t expected;
    };
    const auto most = static_cast<int64_t>(eager / sizeof(int32_t));
    for (const Case& one : {Case{10, 12}, Case{12, 10}, Case{0, 1}, Case{1, 0}, Case{10, 100'000},
                            Case{100'000, 10}, Case{most, most + 1}, Case{most + 1, most},
                            Case{100'000, 100'001}, Case{0, 100'000}, Case{100'000, 0}}) {
        for (const int size : {2, 3}) {
            ChannelWorld world(size);
            const auto right = [](int from, int to) { return int64_t{from + 2 * to}; };
            const auto ends = exchange_all(
                world,
                [&](int from, int to) {
                    return from == 1 && to == 0 ? one.given : right(from, to);
                },
                [&](int from, int to) {
                    return from == 1 && to == 0 ? one.expected : right(from, to);
                });
            const std::string text =
                cat("rank 1 sends ", one.given, " elements where rank 0 expects ", one.expected);
            for (const size_t rank : {0, 1}) {
                if (ends[rank].code == TUTTI_ERR_MISMATCH && ends[rank].message == text) continue;
                fail_msg("rank %zu of %d: not \"%s\" but \"%s\"", rank, size, text.c_str(),
                         ends[rank].message.c_str());
            }
        }
    }
}

void ranks_that_do_not_agree_on_split_sizes_see_both_calls(void**) {
    ChannelWorld world(2);
    const auto ends = ends_of(world, [&](int rank) {
        std::vector<int32_t> input(4);
        std::vector<int32_t> output(4);
        AllToAllSingle call{
            {input.data(), 4, TUTTI_INT32}, {output.data(), 4, TUTTI_INT32}, {}, {}};
        if (rank == 1) call.input_splits = {2, 2};
        run_call(world[rank], call, 1, ample());
    });
    for (const Status& end : ends) {
        assert_int_equal(end.code, TUTTI_ERR_MISMATCH);
        assert_true(end.message.find("all_to_all_single #1 (int32 × 4)") != std::string::npos);
        assert_true(end.message.find("all_to_all_single #1 (int32 in pieces)") !=
                    std::string::npos);
    }
}

// The lists agree in their sum, so only the layout tells.
void lists_of_other_counts_are_a_mismatch(void**) {
    ChannelWorld world(2);
    const auto ends = ends_of(world, [&](int rank) {
        std::vector<int32_t> data(10);
        const int64_t first = rank == 0 ? 4 : 6;
        const View all{data.data(), 10, TUTTI_INT32};
        const Views outputs{all.part(0, first), all.part(first, 10 - first)};
        run_call(world[rank], AllGather{outputs[static_cast<size_t>(rank)], outputs}, 1, ample());
    });
    bool told = false;
    for (const Status& end : ends) {
        told = told || end.message.find("all_gather #1 (int32 × 10, layout ") != std::string::npos;
    }
    assert_true(told);
}

// A peer that lies about sizes gets an error, and none of our memory.
void a_swap_with_a_peer_that_lies_is_refused(void**) {
    const Fingerprint print{CallKind::AllToAll, TUTTI_UINT8, 0, -1, any_count, 0};
    struct Case {
        uint64_t sent;
        uint64_t expected;
        const char* text;
    };
    for (const Case& one : {Case{8, 9, "rank 0 sends 8 elements where rank 1 expects 9"},
                            Case{7, 8, "rank 1 sends 7 elements where rank 0 expects 8"},
                            Case{UINT64_MAX, 8, "sends 18446744073709551615 elements"}}) {
        ChannelWorld world(2);
        Exchange liar(world[1], print, 2, ample());
        std::byte in[8]{};
        std::byte out[8]{};
        // By hand, for an Exchange says the truth.
        struct Listener : TransferListener {
            void transfer_done(Transfer&) noexcept override {}
        };
        struct {
            Exchange::Head head;
            std::byte data[8];
        } message{{print, {}, one.sent, one.expected}, {}};
        Transfer transfer;
        transfer.listener = std::make_shared<Listener>();
        world[1].post_send(transfer, 0, Slot::collective(1), &message, sizeof message);
        Exchange exchange(world[0], print, 1, ample());
        const auto swap = exchange.swap(1, out, in);
        TUTTI_EXPECT_ERROR(exchange.wait(swap.incoming), TUTTI_ERR_MISMATCH, one.text);
    }
}

}  // namespace

int main(int count, char** arguments) {
    choose_channel(count, arguments);
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_piece_of_another_size_is_a_mismatch_on_both_sides),
        TUTTI_TEST(ranks_that_do_not_agree_on_split_sizes_see_both_calls),
        TUTTI_TEST(lists_of_other_counts_are_a_mismatch),
        TUTTI_TEST(a_swap_with_a_peer_that_lies_is_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
