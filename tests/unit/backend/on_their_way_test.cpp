// Does a call that waits for a rank which is gone end, with the name of that rank, and not before
// its patience is over?
#include "backends/module/on_their_way.hpp"
#include "unit/device/table.hpp"

#include "support/unit.hpp"

namespace {

using namespace tutti;
using ext::OnTheirWay;
using ext::PostedCall;

constexpr int64_t none_ms = 0;  // of patience: it is over at the second look
constexpr int64_t ample_ms = 3'600'000;

// Calls of rank 0 of four.
struct Calls {
    PostedCall collective{FlatCall{}, 1, Deadline::never(), 0, 4};
    PostedCall later{FlatCall{}, 2, Deadline::never(), 0, 4};
    PostedCall send_to_1{Send{{}, 1}, Deadline::never(), 0, nullptr};
    PostedCall receive_from_2{Receive{{}, 2}, Deadline::never(), 0, nullptr};
};

const Status loss{TUTTI_ERR_NETWORK, -1, 0, "a connection broke"};

// The check throws that this rank has left.
template <typename Check>
void expect_left(Check&& check, int rank) {
    Status thrown;
    try {
        check();
    } catch (const Error& error) {
        thrown = error.status();
    }
    assert_int_equal(thrown.code, TUTTI_ERR_PEER_LOST);
    assert_int_equal(thrown.rank, rank);
    assert_string_equal(thrown.message.c_str(), cat("rank ", rank, " has left the group").c_str());
}

void expect_given_up_at_second_look(OnTheirWay& calls, int rank) {
    calls.check_left();
    expect_left([&] { calls.check_left(); }, rank);
}

void a_collective_names_the_rank_that_left_at_the_second_look(void**) {
    const Calls made;
    OnTheirWay calls(none_ms);
    calls.add(made.collective);
    calls.left(2);
    expect_given_up_at_second_look(calls, 2);
}

void a_call_is_not_given_up_before_its_patience_is_over(void**) {
    const Calls made;
    OnTheirWay calls(ample_ms);
    calls.add(made.collective);
    calls.left(2);
    for (int look = 0; look < 100; ++look) calls.check_left();
}

void a_call_has_its_time_from_when_its_stream_has_come_to_it(void**) {
    const device::test::Recorded before;
    FlatCall on_stream;
    on_stream.begun = before.event;
    const PostedCall made(std::move(on_stream), 1, Deadline::never(), 0, 4);
    OnTheirWay calls(none_ms);
    calls.add(made);
    calls.left(2);
    for (int look = 0; look < 3; ++look) calls.check_left();
    before.pass();
    expect_given_up_at_second_look(calls, 2);
}

void a_call_goes_on_while_all_ranks_are_there(void**) {
    const Calls made;
    OnTheirWay calls(none_ms);
    calls.add(made.collective);
    for (int look = 0; look < 3; ++look) calls.check_left();
    calls.left(3);  // the watch begins now
    expect_given_up_at_second_look(calls, 3);
}

void a_message_needs_its_peer_alone(void**) {
    const Calls made;
    for (const PostedCall* const message : {&made.send_to_1, &made.receive_from_2}) {
        const int peer = message->raw()->peer;
        OnTheirWay calls(none_ms);
        calls.add(*message);
        calls.left(3 - peer);
        calls.left(3);
        for (int look = 0; look < 3; ++look) calls.check_left();
        calls.left(peer);
        expect_given_up_at_second_look(calls, peer);
    }
}

void calls_behind_the_oldest_wait_for_it(void**) {
    const Calls made;
    OnTheirWay calls(none_ms);
    calls.add(made.send_to_1);
    calls.add(made.collective);
    calls.left(2);
    for (int look = 0; look < 3; ++look) calls.check_left();
    calls.remove(made.send_to_1);
    expect_given_up_at_second_look(calls, 2);
}

void the_next_call_has_its_own_patience(void**) {
    const Calls made;
    OnTheirWay calls(none_ms);
    calls.add(made.collective);
    calls.add(made.later);
    calls.left(1);
    calls.check_left();
    calls.remove(made.collective);
    expect_given_up_at_second_look(calls, 1);
}

// As if another one were at its address.
void a_call_that_comes_back_has_a_new_patience(void**) {
    const Calls made;
    OnTheirWay calls(none_ms);
    calls.add(made.collective);
    calls.left(1);
    calls.check_left();
    calls.remove(made.collective);
    calls.add(made.collective);
    expect_given_up_at_second_look(calls, 1);
}

void the_rank_that_left_is_the_one_that_was_lost(void**) {
    const Calls made;
    OnTheirWay calls(ample_ms);
    calls.add(made.collective);
    calls.left(2);
    expect_left([&] { calls.check_loss(loss); }, 2);
}

void a_loss_is_told_when_nobody_has_left_in_time(void**) {
    const Calls made;
    OnTheirWay calls(none_ms);
    calls.add(made.send_to_1);
    calls.left(2);
    calls.check_loss(loss);
    TUTTI_EXPECT_ERROR(calls.check_loss(loss), TUTTI_ERR_NETWORK, "a connection broke");
    calls.left(1);
    expect_left([&] { calls.check_loss(loss); }, 1);
}

void a_loss_is_not_told_before_its_patience_is_over(void**) {
    const Calls made;
    OnTheirWay calls(ample_ms);
    calls.add(made.collective);
    for (int look = 0; look < 100; ++look) calls.check_loss(loss);
}

void nothing_is_given_up_when_nothing_is_on_its_way(void**) {
    const Calls made;
    OnTheirWay calls(none_ms);
    calls.left(1);
    for (int look = 0; look < 3; ++look) calls.check_left();
    calls.add(made.collective);
    calls.check_left();
    calls.remove(made.collective);
    calls.remove(made.later);  // never was there
    assert_true(calls.empty());
    for (int look = 0; look < 3; ++look) calls.check_left();
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_collective_names_the_rank_that_left_at_the_second_look),
        TUTTI_TEST(a_call_is_not_given_up_before_its_patience_is_over),
        TUTTI_TEST(a_call_has_its_time_from_when_its_stream_has_come_to_it),
        TUTTI_TEST(a_call_goes_on_while_all_ranks_are_there),
        TUTTI_TEST(a_message_needs_its_peer_alone),
        TUTTI_TEST(calls_behind_the_oldest_wait_for_it),
        TUTTI_TEST(the_next_call_has_its_own_patience),
        TUTTI_TEST(a_call_that_comes_back_has_a_new_patience),
        TUTTI_TEST(the_rank_that_left_is_the_one_that_was_lost),
        TUTTI_TEST(a_loss_is_told_when_nobody_has_left_in_time),
        TUTTI_TEST(a_loss_is_not_told_before_its_patience_is_over),
        TUTTI_TEST(nothing_is_given_up_when_nothing_is_on_its_way),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
