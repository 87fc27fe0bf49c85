// Do short messages of the transport tcp go at once, in their order, and never more of them than
// the other side has room for?
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

constexpr size_t longest = eager_bytes;

struct Ranks : test::TcpRanks {
    TcpMessage& send(size_t bytes, Slot slot) {
        sends.push_back(std::make_unique<TcpMessage>(true, bytes));
        if (bytes > 0) sends.back()->data()[0] = static_cast<std::byte>(sends.size());
        here.post(*sends.back(), slot);
        return *sends.back();
    }
    TcpMessage& receive(size_t bytes, Slot slot) {
        receives.push_back(std::make_unique<TcpMessage>(false, bytes));
        there.post(*receives.back(), slot);
        return *receives.back();
    }
    // Is it there before anything has gone back?
    [[nodiscard]] bool comes_unasked(size_t bytes, Slot slot) {
        send(bytes, slot);
        while (there.advance()) {
        }
        return receive(bytes, slot).ends() == 1;
    }

    Messages sends, receives;
};

std::byte first_of(TcpMessage& message) {
    return message.data()[0];
}

void short_messages_of_each_kind_go_unasked(void**) {
    for (const Slot slot : {Slot::announcement(3), Slot::payload(4), Slot::collective(5)}) {
        for (const size_t bytes : {size_t{0}, size_t{1}, longest}) {
            Ranks ranks;
            assert_true(ranks.comes_unasked(bytes, slot));
            assert_int_equal(ranks.sends[0]->ends(), 0);  // until it hears of that
            ranks.settle();
            assert_int_equal(ranks.sends[0]->ends(), 1);
        }
        Ranks ranks;
        assert_false(ranks.comes_unasked(longest + 1, slot));
        ranks.settle();
        assert_int_equal(ranks.receives[0]->ends(), 1);
    }
}

// Also where all receives wait already.
void a_short_message_stays_behind_a_long_one(void**) {
    const Slot slot = Slot::announcement(3);
    Ranks ranks;
    TcpMessage& first = ranks.receive(longest + 1, slot);
    TcpMessage& second = ranks.receive(1, slot);
    TcpMessage& third = ranks.receive(1, slot);
    ranks.send(longest + 1, slot);
    ranks.send(1, slot);
    assert_true(ranks.comes_unasked(1, Slot::announcement(4)));  // another stream
    ranks.there.advance();
    assert_int_equal(first.ends() + second.ends(), 0);
    ranks.here.advance();  // sends the first one
    ranks.send(1, slot);
    while (ranks.there.advance()) {
        assert_true(first.ends() >= second.ends());
        assert_true(second.ends() >= third.ends());
        if (third.ends() == 0) ranks.here.advance();
    }
    ranks.settle();
    assert_int_equal(third.ends(), 1);
    assert_int_equal(first_of(first), 1);
    assert_int_equal(first_of(second), 2);
    assert_int_equal(first_of(third), 4);
    assert_true(ranks.comes_unasked(1, slot));
}

void a_long_message_that_was_taken_back_holds_up_nothing(void**) {
    const Slot slot = Slot::announcement(3);
    Ranks ranks;
    TcpMessage& withdrawn = ranks.send(longest + 1, slot);
    ranks.settle();
    assert_true(withdrawn.transfer.hold->stop());
    ranks.send(1, slot);
    TcpMessage& empty = ranks.receive(longest + 1, slot);
    TcpMessage& behind = ranks.receive(1, slot);
    ranks.settle();
    assert_int_equal(empty.ends() + behind.ends(), 2);
    assert_int_equal(empty.transfer.bytes, 0);
    assert_int_equal(first_of(behind), 2);
    assert_true(ranks.comes_unasked(1, slot));
}

void messages_that_nobody_receives_leave_room_for_collectives(void**) {
    const Slot slot = Slot::announcement(3);
    constexpr size_t bytes = 1000;
    constexpr size_t count = 2 * window_bytes / bytes;
    Ranks ranks;
    for (size_t i = 0; i < count; ++i) {
        ranks.send(bytes, slot);
        ranks.settle();
    }
    for (uint64_t i = 0; i < 7; ++i) {
        assert_true(ranks.comes_unasked(longest, Slot::collective(i)));
    }
    for (size_t i = 0; i < count; ++i) {
        TcpMessage& one = ranks.receive(bytes, slot);
        ranks.settle();
        assert_int_equal(one.ends(), 1);
        assert_int_equal(first_of(one), (i + 1) % 256);
    }
    assert_true(ranks.comes_unasked(bytes, slot));
}

// The empty messages that stay are never received.
void messages_that_came_back_leave_room_for_others(void**) {
    Ranks ranks;
    for (uint64_t i = 0; i <= window_bytes / sizeof(Head) / 2; ++i) {
        TcpMessage stopped(true, 1);
        ranks.here.post(stopped, Slot::payload(i));
        ranks.settle();
        assert_false(stopped.transfer.hold->stop());  // it has gone
        ranks.settle();
        assert_true(stopped.ends() == 1 && stopped.transfer.returned);
    }
    assert_true(ranks.comes_unasked(longest, Slot::announcement(3)));
    assert_int_equal(ranks.receive(1, Slot::payload(7)).transfer.bytes, 0);
    ranks.settle();
    assert_false(ranks.here.link().is_closed());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(short_messages_of_each_kind_go_unasked),
        TUTTI_TEST(a_short_message_stays_behind_a_long_one),
        TUTTI_TEST(a_long_message_that_was_taken_back_holds_up_nothing),
        TUTTI_TEST(messages_that_nobody_receives_leave_room_for_collectives),
        TUTTI_TEST(messages_that_came_back_leave_room_for_others),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
