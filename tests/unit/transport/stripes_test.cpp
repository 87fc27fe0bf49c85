// Do long data go over all connections between two ranks, and come whole, whatever happens to a
// connection or a message meanwhile?
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/tcp_ranks.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;
using namespace tutti::tcp;
using test::pair;
using test::TcpMessage;

constexpr size_t whole = 20 * part_bytes + 17;
constexpr membership::Token proof{'p', 'r', 'o', 'o', 'f'};

int waiting_on(int socket) {
    int bytes = 0;
    assert_int_equal(::ioctl(socket, FIONREAD, &bytes), 0);
    return bytes;
}

void say(int socket, const void* bytes, size_t count) {
    assert_int_equal(::write(socket, bytes, count), count);
}

void fill(TcpMessage& message, int seed) {
    auto* const data = message.data();
    for (size_t i = 0; i < message.bytes; ++i) {
        data[i] = static_cast<std::byte>((i * 31 + i / 4099 + static_cast<size_t>(seed)) % 251);
    }
}

bool is_filled(TcpMessage& message, int seed) {
    TcpMessage wanted(true, message.bytes);
    fill(wanted, seed);
    return message.memory == wanted.memory;
}

// A send, filled, and its receive.
struct Message {
    explicit Message(int filled_by = 1, size_t bytes = whole)
        : seed(filled_by), send(true, bytes), receive(false, bytes) {
        fill(send, seed);
    }
    // The receive waits already, and accepts.
    void offer(test::TcpSide& from, test::TcpSide& to) {
        to.post(receive, slot);
        from.post(send, slot);
        to.advance();
    }
    [[nodiscard]] bool has_come() { return is_filled(receive, seed); }

    static inline const Slot slot = Slot::payload(7);
    const int seed;
    TcpMessage send, receive;
};

// Two ranks and their connections.
struct Ranks : test::TcpRanks {
    explicit Ranks(size_t stripes) {
        for (size_t i = 0; i < stripes; ++i) add_stripe(pair());
    }
    // Called from here.
    void add_stripe(std::array<int, 2> ends) {
        say(ends[1], proof.data(), proof.size());
        here.link().add_stripe(net::Socket(ends[0]), proof);
        there.link().add_stripe(net::Socket(ends[1]), std::nullopt);
        settle();
    }
    // It is offered, and accepted, and begins to go there.
    void begin(Message& message) {
        message.offer(here, there);
        here.advance();
    }
};

void long_data_go_over_all_connections_both_ways(void**) {
    Ranks ranks(3);
    std::vector<std::unique_ptr<TcpMessage>> sends;
    std::vector<std::unique_ptr<TcpMessage>> receives;
    for (int i = 0; i < 8; ++i) {
        const size_t bytes = i % 3 == 2 ? 1000 : whole + static_cast<size_t>(i);
        test::TcpSide& from = i % 2 == 0 ? ranks.here : ranks.there;
        test::TcpSide& to = i % 2 == 0 ? ranks.there : ranks.here;
        sends.push_back(std::make_unique<TcpMessage>(true, bytes));
        receives.push_back(std::make_unique<TcpMessage>(false, bytes));
        fill(*sends.back(), i);
        from.post(*sends.back(), Slot::payload(7));
        to.post(*receives.back(), Slot::payload(7));
    }
    ranks.settle();
    for (int i = 0; i < 8; ++i) {
        const auto at = static_cast<size_t>(i);
        assert_int_equal(sends[at]->ends(), 1);
        assert_int_equal(receives[at]->ends(), 1);
        assert_true(receives[at]->transfer.status.ok());
        assert_true(is_filled(*receives[at], i));
    }
}

void each_connection_takes_a_part(void**) {
    Ranks ranks(3);
    Message message;
    ranks.begin(message);
    for (const int socket : ranks.there.link().sockets()) assert_true(waiting_on(socket) > 0);
    ranks.settle();
    assert_true(message.has_come());
}

void shorter_data_take_the_first_connection(void**) {
    Ranks ranks(2);
    Message message(1, divided_bytes - 1);
    ranks.begin(message);
    const auto sockets = ranks.there.link().sockets();
    assert_true(waiting_on(sockets[0]) > 0);
    assert_int_equal(waiting_on(sockets[1]) + waiting_on(sockets[2]), 0);
    ranks.settle();
    assert_true(message.has_come());
}

void a_send_that_is_withdrawn_comes_whole(void**) {
    Ranks ranks(2);
    Message message;
    ranks.begin(message);
    assert_false(message.send.transfer.hold->stop());  // it has begun
    message.send.transfer.hold.reset();
    fill(message.send, 2);
    ranks.settle();
    assert_int_equal(message.send.ends(), 0);
    assert_true(message.has_come());
}

void nothing_lands_in_a_receive_that_was_withdrawn(void**) {
    Ranks ranks(2);
    Message message;
    ranks.begin(message);
    ranks.there.advance();
    message.receive.transfer.hold.reset();
    fill(message.receive, 2);
    ranks.settle();
    assert_true(is_filled(message.receive, 2));
    assert_int_equal(message.send.ends(), 1);
    Message next(3);
    ranks.begin(next);
    ranks.settle();
    assert_true(next.has_come());
}

void who_calls_sends_when_the_other_side_has_proved_itself(void**) {
    for (const bool is_right : {true, false}) {
        Ranks ranks(0);
        const auto ends = pair();
        ranks.here.link().add_stripe(net::Socket(ends[0]), proof);
        Message message;
        ranks.begin(message);
        assert_int_equal(waiting_on(ends[1]), 0);
        ranks.settle();
        assert_true(message.has_come());
        membership::Token said = proof;
        if (!is_right) said.back() = 'x';
        say(ends[1], said.data(), 5);
        ranks.settle();
        say(ends[1], said.data() + 5, said.size() - 5);
        ranks.settle();
        assert_int_equal(ranks.here.link().sockets().size(), is_right ? 2 : 1);
        assert_int_equal(waiting_on(ends[1]), is_right ? sizeof(Head) : 0);  // the call's answer
        Message second(2);
        if (is_right) ranks.there.link().add_stripe(net::Socket(ends[1]), std::nullopt);
        ranks.begin(second);
        if (is_right) assert_true(waiting_on(ends[1]) > static_cast<int>(sizeof(Head)));
        ranks.settle();
        assert_true(second.has_come());
        if (!is_right) ::close(ends[1]);
    }
}

// A stripe to this side whose other end is the program's.
struct Half : Ranks {
    Half() : Ranks(0) { add(); }
    // The caller's first word.
    void add() {
        const auto ends = pair();
        Head hello{};
        hello.kind = Kind::Credit;
        say(ends[0], &hello, sizeof hello);
        there.link().add_stripe(net::Socket(ends[1]), std::nullopt);
        there.advance();
        end = ends[0];
    }
    // So often that stripes without work were looked at.
    void look() {
        for (int i = 0; i < 20; ++i) there.advance();
    }
    // The head of a part of the first offer, and so much of its data.
    void send_part(size_t begin, size_t length, size_t sent) const {
        Head head{};
        head.kind = Kind::Part;
        head.id = 1;
        head.slot = begin;
        head.length = length;
        say(end, &head, sizeof head);
        const std::vector<std::byte> data(sent);
        say(end, data.data(), sent);
    }
    int end = -1;
};

void who_is_called_sends_when_the_caller_has_spoken(void**) {
    Ranks ranks(0);
    const auto ends = pair();
    ranks.there.link().add_stripe(net::Socket(ends[1]), std::nullopt);
    Message message;
    message.offer(ranks.there, ranks.here);
    ranks.settle();
    assert_true(message.has_come());
    assert_int_equal(waiting_on(ends[0]), 0);
    ::close(ends[0]);
}

void a_stripe_that_ends_while_nothing_is_divided_is_no_loss(void**) {
    Half ranks;
    ::close(ranks.end);
    ranks.look();
    const int ended = ranks.there.link().sockets()[1];
    assert_false(ranks.there.wanted[ended].receive || ranks.there.wanted[ended].send);
    Message message;
    ranks.begin(message);
    ranks.settle();
    assert_true(message.has_come());
}

void a_stripe_that_ends_inside_a_part_closes_the_connection(void**) {
    Half ranks;
    Message message;
    message.offer(ranks.here, ranks.there);
    ranks.send_part(0, 1000, 10);
    ::close(ranks.end);
    ranks.look();
    assert_true(ranks.there.link().is_closed());
    assert_string_equal(ranks.there.why_closed.c_str(), "the connection was closed");
}

// A broken one behind one that was never proved is seen, too.
void each_stripe_is_judged(void**) {
    Half ranks;
    const int first = ranks.end;
    const auto strange = pair();
    ranks.there.link().add_stripe(net::Socket(strange[1]), std::nullopt);
    const std::string nonsense(sizeof(Head), 'x');
    say(strange[0], nonsense.data(), nonsense.size());
    ranks.add();
    Message message;
    message.offer(ranks.here, ranks.there);
    assert_int_equal(ranks.there.link().sockets().size(), 3);  // the strange one has gone
    ranks.send_part(0, 1000, 10);
    ::close(ranks.end);
    ranks.look();
    assert_true(ranks.there.link().is_closed());
    ::close(first);
    ::close(strange[0]);
}

// The ends of its connections come in any order: here that of the first one comes first.
void data_of_a_rank_that_leaves_come_whole(void**) {
    const auto first = pair();
    test::TcpSide side(1, first[1]);
    const auto second = pair();
    Head hello{};
    hello.kind = Kind::Credit;
    say(second[0], &hello, sizeof hello);
    side.link().add_stripe(net::Socket(second[1]), std::nullopt);
    TcpMessage receive(false, divided_bytes);
    TcpMessage other(false, 10);
    side.post(receive, Slot::payload(7));
    side.post(other, Slot::payload(8));
    Head offer{};
    offer.kind = Kind::Offer;
    offer.slot = Slot::payload(7).value();
    offer.id = 1;
    offer.length = divided_bytes;
    Head part{};
    part.kind = Kind::Part;
    part.id = 1;
    part.length = 10;
    Head goodbye{};
    goodbye.kind = Kind::Goodbye;
    const std::vector<std::byte> data(divided_bytes);
    say(first[0], &offer, sizeof offer);
    say(first[0], &part, sizeof part);
    say(first[0], data.data(), 10);
    say(first[0], &goodbye, sizeof goodbye);
    ::shutdown(first[0], SHUT_WR);
    for (int i = 0; i < 20; ++i) side.advance();
    assert_false(side.link().is_closed());
    assert_false(side.wanted[side.link().socket()].receive);  // its end would be told for ever
    assert_int_equal(receive.ends() + other.ends(), 0);
    part.slot = 10;
    part.length = divided_bytes - 10;
    std::thread sender([&] {
        const auto send = [&](const void* bytes, size_t count) {
            for (size_t done = 0; done < count;) {
                const ssize_t one =
                    ::write(second[0], static_cast<const char*>(bytes) + done, count - done);
                if (one > 0) done += static_cast<size_t>(one);
            }
        };
        send(&part, sizeof part);
        send(data.data(), part.length);
        ::close(second[0]);
    });
    while (receive.ends() == 0) side.advance();
    sender.join();
    assert_true(receive.transfer.status.ok());
    assert_int_equal(receive.transfer.bytes, divided_bytes);
    for (int i = 0; i < 20; ++i) side.advance();
    assert_int_equal(other.transfer.status.code, TUTTI_ERR_PEER_LOST);  // by the goodbye
    assert_true(side.link().is_closed());
    ::close(first[0]);
}

// The receive for which a goodbye waits is withdrawn.
void a_goodbye_waits_for_no_receive_that_was_withdrawn(void**) {
    Half ranks;
    TcpMessage other(false, 10);
    ranks.there.post(other, Slot::payload(8));
    Message message;
    message.offer(ranks.here, ranks.there);
    ranks.send_part(0, 1000, 10);
    ranks.there.advance();
    ranks.here.say_goodbye();
    ranks.there.advance();
    assert_int_equal(other.ends(), 0);
    message.receive.transfer.hold.reset();
    assert_true(ranks.there.wanted[ranks.there.link().socket()].send);  // so it will be looked at
    ranks.there.advance();
    assert_int_equal(other.ends(), 1);
    ::close(ranks.end);
}

void what_is_no_part_closes_the_connection(void**) {
    struct Wrong {
        Kind kind;
        uint32_t id;
        uint64_t begin, length;
    };
    for (const Wrong& wrong :
         {Wrong{Kind::Part, 9, 0, 10}, Wrong{Kind::Part, 1, 0, 0}, Wrong{Kind::Part, 1, whole, 1},
          Wrong{Kind::Part, 1, 1, whole}, Wrong{Kind::Part, 1, UINT64_MAX, 2},
          Wrong{Kind::Data, 1, 0, whole}, Wrong{Kind::Credit, 0, 0, 0}}) {
        Half ranks;
        Message message;
        message.offer(ranks.here, ranks.there);
        Head head{};
        head.kind = wrong.kind;
        head.id = wrong.id;
        head.slot = wrong.begin;
        head.length = wrong.length;
        say(ranks.end, &head, sizeof head);
        ranks.there.advance();
        assert_true(ranks.there.link().is_closed());
        assert_string_equal(ranks.there.why_closed.c_str(), "a part was malformed");
        assert_true(message.receive.is_guarded());
        ::close(ranks.end);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(long_data_go_over_all_connections_both_ways),
        TUTTI_TEST(each_connection_takes_a_part),
        TUTTI_TEST(shorter_data_take_the_first_connection),
        TUTTI_TEST(a_send_that_is_withdrawn_comes_whole),
        TUTTI_TEST(nothing_lands_in_a_receive_that_was_withdrawn),
        TUTTI_TEST(who_calls_sends_when_the_other_side_has_proved_itself),
        TUTTI_TEST(who_is_called_sends_when_the_caller_has_spoken),
        TUTTI_TEST(a_stripe_that_ends_while_nothing_is_divided_is_no_loss),
        TUTTI_TEST(a_stripe_that_ends_inside_a_part_closes_the_connection),
        TUTTI_TEST(each_stripe_is_judged),
        TUTTI_TEST(data_of_a_rank_that_leaves_come_whole),
        TUTTI_TEST(a_goodbye_waits_for_no_receive_that_was_withdrawn),
        TUTTI_TEST(what_is_no_part_closes_the_connection),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
