// Over one connection of the transport tcp: do short frames go before long data that have not
// begun, and does what has an order keep it?
#include <cstddef>
#include <memory>
#include <vector>

#include "support/tcp_ranks.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;
using namespace tutti::tcp;
using test::TcpMessage;
using Messages = std::vector<std::unique_ptr<TcpMessage>>;

constexpr size_t long_bytes = size_t{700} * 1024;  // more than a connection takes at once
const Slot other = Slot::payload(8);

// `here` has more to send than the connection takes.
struct Ranks : test::TcpRanks {
    explicit Ranks(int messages = 4, size_t bytes = long_bytes) {
        for (int i = 0; i < messages; ++i) {
            sends.push_back(std::make_unique<TcpMessage>(true, bytes));
            sends.back()->data()[0] = static_cast<std::byte>(i);
            receives.push_back(std::make_unique<TcpMessage>(false, bytes));
            there.post(*receives.back(), Slot::payload(7));
            here.post(*sends.back(), Slot::payload(7));
        }
    }
    // All are accepted.
    void begin() {
        while (there.advance()) {
        }
        here.advance();
    }
    // One of the long messages is still to come when that one ends.
    [[nodiscard]] bool is_overtaken_by(TcpMessage& message) {
        while (message.ends() == 0 && step()) {
        }
        return message.ends() == 1 && receives.back()->ends() == 0;
    }
    bool step() {
        const bool has_moved = there.advance();
        return here.advance() || has_moved;
    }
    void expect_all_have_come() {
        for (const auto& one : sends) assert_int_equal(one->ends(), 1);
        for (size_t i = 0; i < receives.size(); ++i) {
            assert_int_equal(receives[i]->ends(), 1);
            assert_true(receives[i]->transfer.status.ok());
            assert_int_equal(receives[i]->transfer.bytes, receives[i]->bytes);
            assert_true(receives[i]->data()[0] == static_cast<std::byte>(i));
        }
    }

    Messages sends, receives;
};

// So that both ways are in use at the same time.
void an_accept_goes_before_long_data(void**) {
    Ranks ranks;
    ranks.begin();
    TcpMessage send(true, long_bytes);
    TcpMessage receive(false, long_bytes);
    ranks.there.post(send, other);
    ranks.here.advance();
    ranks.here.post(receive, other);
    assert_true(ranks.is_overtaken_by(receive));
    ranks.settle();
    ranks.expect_all_have_come();
    assert_int_equal(send.ends(), 1);
}

void a_short_message_goes_before_long_data(void**) {
    Ranks ranks;
    ranks.begin();
    TcpMessage send(true, 1);
    TcpMessage receive(false, 1);
    ranks.there.post(receive, other);
    ranks.here.post(send, other);
    assert_true(ranks.is_overtaken_by(receive));
    ranks.settle();
    ranks.expect_all_have_come();
}

void a_short_message_goes_between_the_parts_of_one_long_message(void**) {
    Ranks ranks(1, 5 * long_part_bytes + 17);
    ranks.begin();
    TcpMessage send(true, 1);
    TcpMessage receive(false, 1);
    ranks.there.post(receive, other);
    ranks.here.post(send, other);
    assert_true(ranks.is_overtaken_by(receive));
    ranks.settle();
    ranks.expect_all_have_come();
}

// However many come.
void long_data_in_parts_go_on_beside_other_long_data(void**) {
    Ranks ranks(1, 5 * long_part_bytes + 17);
    ranks.begin();
    Messages sends;
    Messages receives;
    while (ranks.receives[0]->ends() == 0 && sends.size() < 50) {
        sends.push_back(std::make_unique<TcpMessage>(true, long_bytes));
        receives.push_back(std::make_unique<TcpMessage>(false, long_bytes));
        ranks.there.post(*receives.back(), other);
        ranks.here.post(*sends.back(), other);
        (void)ranks.step();
    }
    assert_int_equal(ranks.receives[0]->ends(), 1);
    assert_int_equal(receives.back()->ends(), 0);  // there was never nothing else
    ranks.settle();
    ranks.expect_all_have_come();
    for (const auto& one : receives) assert_int_equal(one->ends(), 1);
}

// The data of an announcement that was offered go before the one behind it.
void announcements_keep_their_order(void**) {
    const Slot stream = Slot::announcement(3);
    Ranks ranks;
    TcpMessage first(true, eager_bytes + 1);
    TcpMessage second(true, 1);
    TcpMessage first_receive(false, first.bytes);
    TcpMessage second_receive(false, second.bytes);
    ranks.there.post(first_receive, stream);
    ranks.there.post(second_receive, stream);
    ranks.here.post(first, stream);
    ranks.begin();
    ranks.here.post(second, stream);
    while (ranks.step()) assert_true(first_receive.ends() >= second_receive.ends());
    assert_int_equal(second_receive.ends(), 1);
    ranks.expect_all_have_come();
}

void a_goodbye_stays_behind_long_data(void**) {
    for (const size_t bytes : {long_bytes, 3 * long_part_bytes}) {
        Ranks ranks(4, bytes);
        ranks.begin();
        TcpMessage never(false, 1);
        ranks.there.post(never, other);
        ranks.here.say_goodbye();
        while (never.ends() == 0 && ranks.step()) {
        }
        assert_int_equal(never.ends(), 1);
        assert_int_equal(never.transfer.status.code, TUTTI_ERR_PEER_LOST);
        ranks.expect_all_have_come();
    }
}

// Also if these go before data that have not begun.
void long_data_of_a_send_that_is_withdrawn_come_whole(void**) {
    Ranks ranks;
    ranks.begin();
    ranks.sends.pop_back();
    ranks.sends.pop_back();
    TcpMessage send(true, 1);
    TcpMessage receive(false, 1);
    ranks.there.post(receive, other);
    ranks.here.post(send, other);
    ranks.settle();
    assert_int_equal(receive.ends(), 1);
    for (size_t i = 0; i < ranks.receives.size(); ++i) {
        const TcpMessage& one = *ranks.receives[i];
        assert_int_equal(one.ends(), 1);
        assert_true(one.transfer.bytes == (i < ranks.sends.size() ? long_bytes : 0));
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(an_accept_goes_before_long_data),
        TUTTI_TEST(a_short_message_goes_before_long_data),
        TUTTI_TEST(a_short_message_goes_between_the_parts_of_one_long_message),
        TUTTI_TEST(long_data_in_parts_go_on_beside_other_long_data),
        TUTTI_TEST(announcements_keep_their_order),
        TUTTI_TEST(a_goodbye_stays_behind_long_data),
        TUTTI_TEST(long_data_of_a_send_that_is_withdrawn_come_whole),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
