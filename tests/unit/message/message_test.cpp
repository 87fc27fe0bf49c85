// Does every message reach the receive it is meant for, once and in order, also when others give
// up?
#include <algorithm>

#include "message/lanes/channel_transfer.hpp"
#include "message/rings/ring.hpp"
#include "post_office.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

// The longest messages that travel with what announces them: in a ring, in a lane.
constexpr size_t ring = message::eager_bytes;
constexpr size_t lane = message::Announcement::eager_bytes;
const std::vector<size_t> telling_sizes{0,        1,    ring - 1, ring,    ring + 1,
                                        lane - 1, lane, lane + 1, 100'000, 3'000'001};

void a_message_of_any_size_arrives_whoever_comes_first(void**) {
    PostOffice office(2);
    for (const size_t size : telling_sizes) {
        const auto sent = office.send(0, 1, 7, size, 1);
        const auto received = office.receive(1, 0, 7, size);
        expect_arrived(received, 1, 0, cat("send first, ", size));
        expect_gone(sent, "the send");
        const auto waiting = office.receive(1, 0, 7, size);
        const auto later = office.send(0, 1, 7, size, 2);
        expect_arrived(waiting, 2, 0, cat("receive first, ", size));
        expect_gone(later, "the send");
    }
}

void messages_of_one_source_and_tag_arrive_in_order(void**) {
    PostOffice office(2);
    const std::vector<size_t> sizes{10,   100'000,  0, 5,         ring, ring + 1,
                                    lane, lane + 1, 1, 2'000'000, 3};
    for (const bool send_first : {true, false}) {
        std::vector<Letter> sent;
        std::vector<Letter> received;
        const auto send_all = [&] {
            for (size_t index = 0; index < sizes.size(); ++index) {
                sent.push_back(office.send(0, 1, 0, sizes[index], static_cast<int>(index)));
            }
        };
        if (send_first) send_all();
        for (const size_t size : sizes) received.push_back(office.receive(1, 0, 0, size));
        if (!send_first) send_all();
        for (size_t index = 0; index < sizes.size(); ++index) {
            expect_arrived(received[index], static_cast<int>(index), 0, cat("number ", index));
        }
        for (const Letter& letter : sent) expect_gone(letter, "a send");
    }
}

void tags_are_apart(void**) {
    PostOffice office(2);
    const auto one = office.send(0, 1, 1, 8, 1);
    const auto two = office.send(0, 1, 2, 100'000, 2);
    const auto top = office.send(0, 1, INT32_MAX, 8, 3);
    const auto zero = office.send(0, 1, 0, 100'000, 4);
    expect_arrived(office.receive(1, 0, 0, 100'000), 4, 0, "tag 0");
    expect_arrived(office.receive(1, 0, INT32_MAX, 8), 3, 0, "the highest tag");
    expect_arrived(office.receive(1, 0, 2, 100'000), 2, 0, "tag 2");
    expect_arrived(office.receive(1, any_source, 1, 8), 1, 0, "tag 1");
    for (const Letter* sent : {&one, &two, &top, &zero}) expect_gone(*sent, "a send");
}

void a_receive_from_any_source_takes_from_all_and_says_from_whom(void**) {
    constexpr int size = 4;
    PostOffice office(size);
    for (const size_t bytes : {size_t{8}, size_t{100'000}}) {
        std::vector<Letter> sent;
        std::vector<Letter> received;
        for (int rank = 1; rank < size; ++rank) received.push_back(office.receive(0, -1, 3, bytes));
        for (int rank = 1; rank < size; ++rank) {
            sent.push_back(office.send(rank, 0, 3, bytes, 10 + rank));
        }
        std::vector<int> sources;
        for (const Letter& letter : received) {
            require(letter.end().ok(), letter.end().message);
            sources.push_back(letter.work->source_rank());
            require(letter.holds(std::byte(10 + sources.back())), "data of another rank");
        }
        std::sort(sources.begin(), sources.end());
        assert_true(sources == std::vector<int>({1, 2, 3}));
        for (const Letter& letter : sent) expect_gone(letter, "a send");
    }
}

// Everybody has a message ready at all times.
void receives_from_any_source_serve_all_in_turn(void**) {
    constexpr int size = 4;
    constexpr int of_each = 20;
    if (channel_name() == "gloo" || channel_name().ends_with("tcp")) {
        return;  // in the order in which they arrive, by any connection
    }
    PostOffice office(size);
    std::vector<Letter> sent;
    for (int number = 0; number < of_each; ++number) {
        for (int rank = 1; rank < size; ++rank) sent.push_back(office.send(rank, 0, 0, 8, rank));
    }
    std::vector<int> served(size, 0);
    for (int number = 1; number <= of_each * (size - 1); ++number) {
        const auto received = office.receive(0, any_source, 0, 8);
        require(received.end().ok(), received.end().message);
        ++served[static_cast<size_t>(received.work->source_rank())];
        const int least = *std::min_element(served.begin() + 1, served.end());
        if (number == of_each) require(least >= 3, cat("one rank was served ", least, " times"));
    }
    for (const Letter& letter : sent) expect_gone(letter, "a send");
}

// The receive that gave up had asked for a message of rank 1, which the receive from any takes.
void a_receive_from_one_source_hears_of_it_after_one_from_any_took_its_message(void**) {
    PostOffice office(3);
    expect_failed(office.receive(0, 1, 0, 4, 1), TUTTI_ERR_TIMEOUT, "rank 1", "nobody sends");
    const auto any = office.receive(0, any_source, 0, 4);
    const auto one = office.receive(0, 1, 0, 4);
    const auto first = office.send(1, 0, 0, 4, 1);
    expect_arrived(any, 1, 1, "the receive from any");
    const auto other = office.send(2, 0, 0, 4, 2);
    // The message of rank 2 is for neither; it waits.
    const auto second = office.send(1, 0, 0, 4, 3);
    require(one.work->wait(Deadline::after_ms(10'000)), "the message of rank 1 was not heard");
    expect_arrived(one, 3, 1, "the receive from rank 1");
    expect_arrived(office.receive(0, any_source, 0, 4), 2, 2, "the message of rank 2");
    for (const Letter* sent : {&first, &other, &second}) expect_gone(*sent, "a send");
}

// The receive that gave up had asked for a message of anybody, which the receive from 1 takes.
void a_receive_from_any_hears_of_others_after_one_from_one_source_took_its_message(void**) {
    PostOffice office(3);
    expect_failed(office.receive(0, any_source, 0, 4, 1), TUTTI_ERR_TIMEOUT, "any rank",
                  "nobody sends");
    const auto one = office.receive(0, 1, 0, 4);
    const auto any = office.receive(0, any_source, 0, 4);
    const auto first = office.send(1, 0, 0, 4, 1);
    expect_arrived(one, 1, 1, "the receive from rank 1");
    const auto other = office.send(2, 0, 0, 4, 2);
    require(any.work->wait(Deadline::after_ms(10'000)), "the message of rank 2 was not heard");
    expect_arrived(any, 2, 2, "the receive from any");
    for (const Letter* sent : {&first, &other}) expect_gone(*sent, "a send");
}

void a_rank_sends_to_itself_in_either_order(void**) {
    PostOffice office(2);
    for (const size_t size : telling_sizes) {
        const auto sent = office.send(0, 0, 5, size, 1);
        assert_false(sent.work->is_completed());
        expect_arrived(office.receive(0, 0, 5, size), 1, 0, cat("send first, ", size));
        expect_gone(sent, "the send");
        const auto waiting = office.receive(0, 0, 5, size);
        expect_gone(office.send(0, 0, 5, size, 2), "the send");
        expect_arrived(waiting, 2, 0, cat("receive first, ", size));
    }
}

void any_source_means_another_rank(void**) {
    PostOffice office(2);
    const auto any = office.receive(0, any_source, 0, 8);
    const auto own = office.send(0, 0, 0, 8, 1);
    expect_gone(office.send(1, 0, 0, 8, 2), "the send of rank 1");
    expect_arrived(any, 2, 1, "from any");
    expect_arrived(office.receive(0, 0, 0, 8), 1, 0, "from itself");
    expect_gone(own, "the send to itself");
}

void thousands_of_messages_may_be_outstanding(void**) {
    constexpr int count = 3000;
    const auto size_of = [](int number) { return number % 50 == 0 ? lane + 1 : size_t{4}; };
    for (const bool send_first : {true, false}) {
        PostOffice office(2);
        std::vector<Letter> sent;
        std::vector<Letter> received;
        const auto send_all = [&] {
            for (int number = 0; number < count; ++number) {
                sent.push_back(office.send(0, 1, number % 3, size_of(number), number % 251));
            }
        };
        if (send_first) send_all();
        for (int number = 0; number < count; ++number) {
            received.push_back(office.receive(1, 0, number % 3, size_of(number)));
        }
        if (!send_first) send_all();
        for (int number = 0; number < count; ++number) {
            const auto place = static_cast<size_t>(number);
            expect_arrived(received[place], number % 251, 0, cat("message ", number));
            expect_gone(sent[place], "a send");
        }
    }
}

void a_message_of_another_shape_is_consumed_and_the_next_is_fine(void**) {
    PostOffice office(2);
    struct Case {
        size_t sent_bytes;
        tutti_dtype sent_dtype;
        const char* sent;
        size_t bytes;
        tutti_dtype dtype;
        const char* wanted;
    };
    const std::vector<Case> cases{
        {8, TUTTI_UINT8, "uint8 × 8", 4, TUTTI_UINT8, "uint8 × 4"},
        {4, TUTTI_UINT8, "uint8 × 4", 8, TUTTI_UINT8, "uint8 × 8"},
        {8, TUTTI_INT32, "int32 × 2", 8, TUTTI_FLOAT32, "float32 × 2"},
        {0, TUTTI_UINT8, "uint8 × 0", 8, TUTTI_UINT8, "uint8 × 8"},
        {0, TUTTI_INT32, "int32 × 0", 0, TUTTI_UINT8, "uint8 × 0"},
        {100'000, TUTTI_UINT8, "uint8 × 100000", 0, TUTTI_UINT8, "uint8 × 0"},
        {100'000, TUTTI_UINT8, "uint8 × 100000", 99'999, TUTTI_UINT8, "uint8 × 99999"},
        {100'000, TUTTI_UINT8, "uint8 × 100000", 100'001, TUTTI_UINT8, "uint8 × 100001"},
        {100'000, TUTTI_INT32, "int32 × 25000", 100'000, TUTTI_FLOAT32, "float32 × 25000"},
        {100'000, TUTTI_UINT8, "uint8 × 100000", 4, TUTTI_UINT8, "uint8 × 4"},
        {4, TUTTI_UINT8, "uint8 × 4", 100'000, TUTTI_UINT8, "uint8 × 100000"},
    };
    for (const int from : {1, 0}) {  // another rank, and itself
        for (const Case& one : cases) {
            const std::string what = cat(one.sent, " to ", one.wanted, " from ", from);
            std::vector<std::byte> data(one.sent_bytes, std::byte{1});
            const auto wrong = office.send(from, 0, 9, std::move(data), for_ever, one.sent_dtype);
            const auto next = office.send(from, 0, 9, 100'000, 2);
            const auto refused = office.receive(0, from, 9, one.bytes, for_ever, one.dtype);
            expect_failed(
                refused, TUTTI_ERR_MISMATCH,
                cat("rank ", from, " sent ", one.sent, " where this receive is ", one.wanted),
                what);
            require(refused.holds(PostOffice::untouched), cat(what, ": the memory was touched"));
            assert_int_equal(refused.work->status()->rank, from);
            assert_int_equal(refused.work->source_rank(), -1);
            expect_arrived(office.receive(0, from, 9, 100'000), 2, from, what);
            expect_gone(next, what);
            if (from == 1) expect_gone(wrong, what);
            require(wrong.work->wait(ample()), what);
        }
    }
}

void a_late_message_goes_to_the_next_receive(void**) {
    PostOffice office(2);
    for (const size_t size : telling_sizes) {
        for (const int source : {0, any_source}) {
            const auto gave_up = office.receive(1, source, 4, size, 1);
            expect_failed(gave_up, TUTTI_ERR_TIMEOUT,
                          source == 0 ? "timed out waiting for a message of rank 0"
                                      : "timed out waiting for a message of any rank",
                          "the receive");
            assert_int_equal(gave_up.work->status()->rank, source);
            const auto sent = office.send(0, 1, 4, size, 3);
            expect_arrived(office.receive(1, source, 4, size), 3, 0, cat("the next, ", size));
            expect_gone(sent, "the send");
            require(gave_up.holds(PostOffice::untouched), "memory of the receive that gave up");
        }
    }
}

void a_send_that_timed_out_is_not_received(void**) {
    for (const size_t size : {size_t{8}, ring, ring + 1, lane, lane + 1, size_t{3'000'000}}) {
        PostOffice office(2);
        {
            const auto gave_up = office.send(0, 1, 4, size, 1, 1);
            expect_failed(gave_up, TUTTI_ERR_TIMEOUT, "timed out: rank 1 did not receive it",
                          "the send");
            assert_int_equal(gave_up.work->status()->rank, 1);
        }  // its memory is gone
        const auto none = office.receive(1, 0, 4, size, 50);
        require(!none.end().ok(), cat("a message that was taken back arrived, of ", size));
        require(none.holds(PostOffice::untouched), "the memory was touched");
        const auto sent = office.send(0, 1, 4, size, 2);
        expect_arrived(office.receive(1, 0, 4, size), 2, 0, cat("the next, ", size));
        expect_gone(sent, "the next send");
    }
}

// The receiver had asked for the announcement, so the announcement has gone, but not the data.
void a_send_that_timed_out_behind_its_announcement_is_not_received(void**) {
    for (const size_t size : {lane + 1, size_t{3'000'000}}) {
        PostOffice office(2);
        expect_failed(office.receive(1, 0, 4, size, 1), TUTTI_ERR_TIMEOUT, "rank 0", "nobody sent");
        {
            const auto gave_up = office.send(0, 1, 4, size, 1, 20);
            expect_failed(gave_up, TUTTI_ERR_TIMEOUT, "rank 1 did not receive it", "the send");
        }
        const auto none = office.receive(1, 0, 4, size, 50);
        require(!none.end().ok(), cat("a message that was taken back arrived, of ", size));
        require(none.holds(PostOffice::untouched), "the memory was touched");
        const auto sent = office.send(0, 1, 4, size, 2);
        expect_arrived(office.receive(1, 0, 4, size), 2, 0, cat("the next, ", size));
        expect_gone(sent, "the next send");
    }
}

void a_send_whose_time_is_up_at_once_touches_nothing(void**) {
    PostOffice office(2);
    for (int turn = 0; turn < 20; ++turn) {
        for (const int to : {0, 1}) {
            const auto gave_up = office.send(0, to, 4, turn % 2 == 0 ? 8 : 100'000, 1, 0);
            expect_failed(gave_up, TUTTI_ERR_TIMEOUT, "timed out", "the send");
        }
    }
    const auto own = office.send(0, 0, 4, 8, 2);
    expect_arrived(office.receive(0, 0, 4, 8), 2, 0, "to itself");
    const auto sent = office.send(0, 1, 4, 8, 3);
    expect_arrived(office.receive(1, 0, 4, 8), 3, 0, "to the other");
    expect_gone(sent, "the send");
}

void a_message_to_itself_that_timed_out_is_not_received(void**) {
    PostOffice office(1);
    for (const size_t size : {size_t{8}, size_t{100'000}}) {
        expect_failed(office.send(0, 0, 4, size, 1, 1), TUTTI_ERR_TIMEOUT, "rank 0", "the send");
        expect_failed(office.receive(0, 0, 4, size, 1), TUTTI_ERR_TIMEOUT, "rank 0", "the receive");
        const auto sent = office.send(0, 0, 4, size, 2);
        expect_arrived(office.receive(0, 0, 4, size), 2, 0, "the next");
    }
}

void an_abort_ends_all_that_waits(void**) {
    PostOffice office(3);
    std::vector<Letter> waiting;
    waiting.push_back(office.receive(0, 1, 1, 8));
    waiting.push_back(office.receive(0, any_source, 2, 8));
    waiting.push_back(office.receive(0, 0, 3, 8));
    waiting.push_back(office.send(0, 0, 4, 8, 1));
    waiting.push_back(office.send(0, 0, 5, 100'000, 1));
    waiting.push_back(office.send(0, 1, 6, 8, 1));
    waiting.push_back(office.send(0, 2, 7, 3'000'000, 1));
    for (const Letter& letter : waiting) assert_false(letter.work->is_completed());
    office.abort(0, {TUTTI_ERR_PEER_LOST, 2, 0, "rank 2 died"});
    for (const Letter& letter : waiting) {
        expect_failed(letter, TUTTI_ERR_PEER_LOST, "rank 2 died", "what waited");
    }
    // Now and later, said by the call or by its work.
    for (const int to : {0, 1}) {
        for (const bool is_send : {true, false}) {
            try {
                const auto later =
                    is_send ? office.send(0, to, 1, 8, 1) : office.receive(0, to, 1, 8);
                expect_failed(later, TUTTI_ERR_PEER_LOST, "rank 2 died", "what comes later");
            } catch (const Error& error) {
                assert_string_equal(error.what(), "rank 2 died");
            }
        }
    }
    // The others go on.
    const auto sent = office.send(1, 2, 1, 8, 3);
    expect_arrived(office.receive(2, 1, 1, 8), 3, 1, "between the others");
    expect_gone(sent, "between the others");
}

void who_waits_for_a_rank_that_left_learns_it(void**) {
    PostOffice office(3);
    const auto sent_before = office.send(1, 0, 1, 8, 1);
    expect_arrived(office.receive(0, 1, 1, 8), 1, 1, "what was sent before");
    expect_gone(sent_before, "what was sent before");
    const auto waits = office.receive(0, 1, 2, 8);
    const auto sends = office.send(0, 1, 3, 3'000'000, 1);
    office.channel(1).leave();
    office.close(1);
    expect_failed(waits, TUTTI_ERR_PEER_LOST, "rank 1 left the group", "the receive");
    assert_int_equal(waits.work->status()->rank, 1);
    expect_failed(sends, TUTTI_ERR_PEER_LOST, "rank 1 left the group", "the send");
    const auto sent = office.send(0, 2, 1, 8, 3);
    expect_arrived(office.receive(2, 0, 1, 8), 3, 0, "between the others");
    expect_gone(sent, "between the others");
}

// No other message will ever come, and nothing may be left behind.
void a_group_of_one_lets_go_of_its_receives(void**) {
    auto channel = std::move(connect_all(1)[0]);
    auto messages = messages_of(channel->channel(), {});
    const std::weak_ptr<message::Messages> watched = messages;
    std::byte data[8]{};
    const auto work = std::make_shared<Work>();
    messages->start(Receive{{data, 8, TUTTI_UINT8}, any_source, 0}, Deadline::after_ms(1), work);
    assert_true(work->wait(ample()));
    assert_int_equal(work->status()->code, TUTTI_ERR_TIMEOUT);
    const Status status{TUTTI_ERR_ABORTED, -1, 0, "destroyed"};
    channel->channel().abort(status);
    messages->abort(status);
    messages->close();
    messages.reset();
    // The alarm may hold it for a moment.
    const auto limit = Deadline::after_ms(10'000);
    while (!watched.expired() && !limit.expired()) std::this_thread::yield();
    assert_true(watched.expired());
}

}  // namespace

int main(int count, char** arguments) {
    choose_channel(count, arguments);
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_message_of_any_size_arrives_whoever_comes_first),
        TUTTI_TEST(messages_of_one_source_and_tag_arrive_in_order),
        TUTTI_TEST(tags_are_apart),
        TUTTI_TEST(a_receive_from_any_source_takes_from_all_and_says_from_whom),
        TUTTI_TEST(receives_from_any_source_serve_all_in_turn),
        TUTTI_TEST(a_receive_from_one_source_hears_of_it_after_one_from_any_took_its_message),
        TUTTI_TEST(a_receive_from_any_hears_of_others_after_one_from_one_source_took_its_message),
        TUTTI_TEST(a_rank_sends_to_itself_in_either_order),
        TUTTI_TEST(any_source_means_another_rank),
        TUTTI_TEST(thousands_of_messages_may_be_outstanding),
        TUTTI_TEST(a_message_of_another_shape_is_consumed_and_the_next_is_fine),
        TUTTI_TEST(a_late_message_goes_to_the_next_receive),
        TUTTI_TEST(a_send_that_timed_out_is_not_received),
        TUTTI_TEST(a_send_that_timed_out_behind_its_announcement_is_not_received),
        TUTTI_TEST(a_send_whose_time_is_up_at_once_touches_nothing),
        TUTTI_TEST(a_message_to_itself_that_timed_out_is_not_received),
        TUTTI_TEST(an_abort_ends_all_that_waits),
        TUTTI_TEST(who_waits_for_a_rank_that_left_learns_it),
        TUTTI_TEST(a_group_of_one_lets_go_of_its_receives),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
