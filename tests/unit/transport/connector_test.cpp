// Ranks that connect to each other: either, both at once, one that cannot be called, one that does
// not answer; further connections.
#include "transport/connector.hpp"

#include <algorithm>
#include <array>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "membership/invitation.hpp"
#include "net/loop.hpp"
#include "net/socket.hpp"
#include "support/limits.hpp"
#include "support/quiet_world.hpp"
#include "support/sanitizers.h"
#include "support/unit.hpp"
#include "transport/handshake.hpp"

namespace {

using namespace tutti;
using membership::Frame;
using membership::FrameReader;

const std::vector<std::string> here{"127.0.0.1"};
const std::vector<std::string> nowhere{"127.0.0.2"};  // nobody listens there

Deadline ample() {
    return Deadline::after_ms(60'000);
}

// A rank and its ways to all of them; whom it asks to connect hears it.
class Place final : public test::QuietWorld {
public:
    Place(int rank, std::vector<std::vector<std::string>> ways)
        : QuietWorld(rank, static_cast<int>(ways.size())),
          others(ways.size()),
          ways_(std::move(ways)) {
        ways_[static_cast<size_t>(rank)] = here;
    }

    std::vector<Place*> others;  // by rank; null hears nothing

    [[nodiscard]] bool same_host(int) const override { return false; }
    [[nodiscard]] Routes routes() const override { return {here, ways_}; }
    void send(std::string bytes) noexcept override {
        FrameReader().feed(std::as_bytes(std::span(bytes)), [this](const Frame& frame) {
            assert_int_equal(static_cast<int>(frame.kind),
                             static_cast<int>(membership::Kind::Connect));
            const int asked = membership::decode_rank(frame);
            {
                const Lock lock(mutex_);
                asked_.push_back(asked);
            }
            if (Place* const other = others[static_cast<size_t>(asked)]) other->hear_of(rank());
            return true;
        });
    }
    [[nodiscard]] bool has_asked(int rank) {
        const Lock lock(mutex_);
        return std::ranges::find(asked_, rank) != asked_.end();
    }

private:
    void hear_of(int rank) { hear(membership::encode(membership::Kind::Connect, rank)); }

    std::vector<std::vector<std::string>> ways_;
    Mutex mutex_;
    std::vector<int> asked_ TUTTI_GUARDED_BY(mutex_);
};

// The state of a rank's connections.
class Side {
public:
    explicit Side(Place& place, FurtherConnections further = {})
        : made_(static_cast<size_t>(place.size())),
          connector(
              place,
              {[this](int peer, net::Socket socket) { of(peer).set_value(std::move(socket)); },
               [this](int peer, const Status& why) {
                   of(peer).set_exception(std::make_exception_ptr(Error(why)));
               },
               [this](int peer, const Status& lack) {
                   of(peer).set_exception(std::make_exception_ptr(Error(lack)));
               },
               [this](int, net::Socket socket, const std::optional<membership::Token>& proof) {
                   const Lock lock(mutex_);
                   joined_.push_back({std::move(socket), proof});
                   joins_.notify_all();
               }},
              std::move(further)) {}

    net::Socket connection(int peer) {
        auto made = of(peer).get_future();
        if (made.wait_until(ample().when()) != std::future_status::ready) {
            throw Error(TUTTI_ERR_TIMEOUT, "there is no connection");
        }
        return made.get();
    }

    // A further connection, and how the other side proves that it is its own.
    struct Joined {
        net::Socket socket;
        std::optional<membership::Token> proof;
    };
    Joined next_joined() {
        const Deadline deadline = ample();
        Lock lock(mutex_);
        while (joined_.empty()) {
            if (!joins_.wait(lock, deadline)) throw Error(TUTTI_ERR_TIMEOUT, "nobody joins");
        }
        Joined first = std::move(joined_.front());
        joined_.erase(joined_.begin());
        return first;
    }

    // With which who is called proves who it is.
    [[nodiscard]] membership::Token secret() const {
        const std::string own = connector.address();
        membership::Token secret{};
        assert_true(membership::parse_hex(own.substr(own.find(' ') + 1), secret));
        return secret;
    }

private:
    std::promise<net::Socket>& of(int peer) { return made_[static_cast<size_t>(peer)]; }

    std::vector<std::promise<net::Socket>> made_;  // by rank; a second one would throw
    Mutex mutex_;
    Condition joins_;
    std::vector<Joined> joined_ TUTTI_GUARDED_BY(mutex_);

public:
    Connector connector;
};

// These have the ends of one connection.
void expect_connected(Side& one, int rank_of_one, Side& other, int rank_of_other) {
    net::Socket here_to_there = one.connection(rank_of_other);
    net::Socket there_to_here = other.connection(rank_of_one);
    const char said = 'x';
    char heard = 0;
    here_to_there.send_all(std::as_bytes(std::span(&said, 1)), ample());
    there_to_here.recv_all(std::as_writable_bytes(std::span(&heard, 1)), ample());
    assert_int_equal(heard, said);
}

struct Pair {
    explicit Pair(const std::vector<std::string>& from_0_to_1 = here,
                  const std::vector<std::string>& from_1_to_0 = here)
        : places{{0, {here, from_0_to_1}}, {1, {from_1_to_0, here}}} {
        places[0].others[1] = &places[1];
        places[1].others[0] = &places[0];
        low.connector.set_address(1, high.connector.address());
        high.connector.set_address(0, low.connector.address());
    }
    void expect_connected() { ::expect_connected(low, 0, high, 1); }

    Place places[2];
    Side low{places[0]}, high{places[1]};
};

void either_may_begin(void**) {
    Pair low_begins;
    low_begins.low.connector.ensure_connected(1);
    low_begins.expect_connected();
    Pair high_begins;
    high_begins.high.connector.ensure_connected(0);
    high_begins.high.connector.ensure_connected(0);  // under way, or done
    high_begins.expect_connected();
}

void both_may_begin_at_once(void**) {
    for (int round = 0; round < 100; ++round) {
        Pair both;
        auto other =
            std::async(std::launch::async, [&] { both.high.connector.ensure_connected(0); });
        both.low.connector.ensure_connected(1);
        other.get();
        both.expect_connected();
    }
}

// Who calls has them made, and hears on each first who has answered.
void further_connections_follow_the_first(void**) {
    std::vector<std::vector<std::string>> ways{here, here};
    Place low_place{0, ways};
    Place high_place{1, ways};
    Side low(low_place, {3, {}});
    Side high(high_place);
    low.connector.set_address(1, high.connector.address());
    high.connector.set_address(0, low.connector.address());
    low.connector.ensure_connected(1);
    expect_connected(low, 0, high, 1);
    for (int i = 0; i < 2; ++i) {
        Side::Joined mine = low.next_joined();
        assert_true(mine.proof.has_value());
        assert_true(*mine.proof == low.secret());
        const Side::Joined theirs = high.next_joined();
        assert_false(theirs.proof.has_value());
        membership::Token said{};
        mine.socket.recv_all(std::as_writable_bytes(std::span(said)), ample());
        assert_true(said == *mine.proof);
    }
}

void they_leave_from_each_address_in_turn(void**) {
    std::vector<std::vector<std::string>> ways{here, here};
    Place low_place{0, ways};
    Place high_place{1, ways};
    Side low(low_place, {std::nullopt, {"127.0.0.1", "203.0.113.7", "127.0.0.3"}});  // not ours
    Side high(high_place);
    low.connector.set_address(1, high.connector.address());
    high.connector.set_address(0, low.connector.address());
    low.connector.ensure_connected(1);
    expect_connected(low, 0, high, 1);
    const Side::Joined mine = low.next_joined();
    const Side::Joined theirs = high.next_joined();
    assert_string_equal(mine.socket.local_address().c_str(), "127.0.0.3");
    assert_string_equal(theirs.socket.remote_address().c_str(), "127.0.0.3");
}

// As behind a router that lets nobody in.
void who_cannot_be_called_is_asked_to_call(void**) {
    Pair high_is_hidden(nowhere, here);
    high_is_hidden.low.connector.ensure_connected(1);
    high_is_hidden.expect_connected();
    Pair low_is_hidden(here, nowhere);
    low_is_hidden.high.connector.ensure_connected(0);
    low_is_hidden.expect_connected();
    Pair both_want(nowhere, here);
    both_want.low.connector.ensure_connected(1);
    both_want.high.connector.ensure_connected(0);
    both_want.expect_connected();
}

// As one that is stopped: its system answers for it.
struct Silent {
    const net::ListenSocket door = net::ListenSocket::bind("127.0.0.1", 0, 8);
    [[nodiscard]] std::string address() const {
        return cat(door.port(), " ", std::string(32, '0'));
    }
    // The caller has said who it is.
    [[nodiscard]] net::Socket accept() const {
        net::Socket taken = door.accept(ample());
        std::array<std::byte, Connector::handshake_bytes> handshake{};
        taken.recv_all(handshake, ample());
        return taken;
    }
};

void who_never_answers_holds_nobody_once_it_is_lost(void**) {
    const Silent silent;
    Place place(0, {here, here});
    Side low(place);
    low.connector.set_address(1, silent.address());
    low.connector.ensure_connected(1);
    const net::Socket taken = silent.accept();
    place.lose(1);
    TUTTI_EXPECT_ERROR(low.connection(1), TUTTI_ERR_TIMEOUT, "rank 0 cannot connect to rank 1");
}

void who_never_answers_holds_up_no_other_call(void**) {
    const Silent silent;
    Place places[] = {{0, {here, here, here}}, {2, {here, here, here}}};
    Side caller(places[0]);
    Side other(places[1]);
    caller.connector.set_address(1, silent.address());
    caller.connector.set_address(2, other.connector.address());
    other.connector.set_address(0, caller.connector.address());
    caller.connector.ensure_connected(1);
    const net::Socket taken = silent.accept();
    caller.connector.ensure_connected(2);
    expect_connected(caller, 0, other, 2);
}

// As one whose system takes no more callers: nothing comes back.
struct Deaf {
    const net::ListenSocket door = net::ListenSocket::bind("127.0.0.1", 0, 0);
    const net::Socket only = net::Socket::connect(net::Endpoint{"127.0.0.1", door.port()}, ample());
    [[nodiscard]] std::string address() const {
        return cat(door.port(), " ", std::string(32, '0'));
    }
};

// The other call does not have to wait until that one is given up, and its rank asked to call.
void a_call_in_vain_holds_up_no_other(void**) {
    bool comes_first = false;
    for (int round = 0; round < 20 && !comes_first; ++round) {
        const Deaf deaf;
        Place places[] = {{0, {here, here, here}}, {2, {here, here, here}}};
        Side caller(places[0]);
        Side other(places[1]);
        caller.connector.set_address(1, deaf.address());
        caller.connector.set_address(2, other.connector.address());
        other.connector.set_address(0, caller.connector.address());
        caller.connector.ensure_connected(1);
        caller.connector.ensure_connected(2);
        expect_connected(caller, 0, other, 2);
        comes_first = !places[0].has_asked(1);
    }
    assert_true(comes_first);
}

// Its own call was to take the place of this rank's.
void a_rank_that_left_before_its_call_came_through_is_waited_for_no_longer(void**) {
    const Silent other;
    Place place(1, {here, here});
    Side caller(place);
    caller.connector.set_address(0, other.address());
    caller.connector.ensure_connected(0);
    net::Socket taken = other.accept();
    const membership::Token dropped{};
    taken.send_all(std::as_bytes(std::span(dropped)), ample());
    std::vector<std::byte> all(4096);  // more than it says: until it hangs up
    TUTTI_EXPECT_ERROR(taken.recv_all(std::span(all), ample()), TUTTI_ERR_NETWORK, "closed");
    assert_true(caller.connector.has_begun(0));
    place.lose(0);
    assert_false(caller.connector.has_begun(0));
    TUTTI_EXPECT_ERROR(caller.connection(0), TUTTI_ERR_PEER_LOST, "rank 1 cannot connect");
}

void a_rank_that_cannot_be_called_is_given_up_once_it_is_gone(void**) {
    Place place(0, {here, nowhere});
    Side caller(place);
    caller.connector.set_address(1, caller.connector.address());
    caller.connector.ensure_connected(1);
    place.depart(1);
    assert_false(caller.connector.has_begun(1));
    TUTTI_EXPECT_ERROR(caller.connection(1), TUTTI_ERR_PEER_LOST, "rank 0 cannot connect");
}

void a_rank_that_is_gone_is_not_called(void**) {
    const Silent other;
    Place place(0, {here, here});
    place.depart(1);
    Side caller(place);
    caller.connector.set_address(1, other.address());
    caller.connector.ensure_connected(1);
    assert_false(caller.connector.has_begun(1));
    TUTTI_EXPECT_ERROR(caller.connection(1), TUTTI_ERR_PEER_LOST, "rank 0 cannot connect");
}

// Data may follow that it sent before it left.
void the_answer_of_a_rank_that_has_left_is_taken(void**) {
    const Silent other;
    Place place(0, {here, here});
    Side caller(place);
    caller.connector.set_address(1, other.address());
    caller.connector.ensure_connected(1);
    net::Socket taken = other.accept();
    place.depart(1);
    assert_true(caller.connector.has_begun(1));
    const membership::Token secret = caller.secret();
    taken.send_all(std::as_bytes(std::span(secret)), ample());
    assert_true(caller.connection(1).valid());
}

// Another process may listen at an address that a rank has, too.
void who_is_another_one_is_passed_over(void**) {
    const auto stranger = net::ListenSocket::bind("127.0.0.2", 0, 8);
    Place place(0, {here, {"127.0.0.2", "127.0.0.1"}});
    Side caller(place);
    const auto right = net::ListenSocket::bind("127.0.0.1", stranger.port(), 8);
    caller.connector.set_address(1, cat(stranger.port(), " ", std::string(32, '0')));
    caller.connector.ensure_connected(1);
    net::Socket wrong = stranger.accept(ample());
    const std::string other_secret(sizeof(membership::Token), 'x');
    wrong.send_all(std::as_bytes(std::span(other_secret)), ample());
    net::Socket answers = right.accept(ample());
    const membership::Token secret = caller.secret();
    // The next owner's comes at once behind it.
    std::string bytes(secret.begin(), secret.end());
    bytes += "data";
    answers.send_all(std::as_bytes(std::span(bytes)), ample());
    net::Socket connection = caller.connection(1);
    std::string data(4, '.');
    connection.recv_all(std::as_writable_bytes(std::span(data)), ample());
    assert_string_equal(data.c_str(), "data");
}

// The first has shown that calls do not come through to its host.
void who_is_on_the_host_of_one_that_cannot_be_called_is_asked_at_once(void**) {
    Place places[] = {
        {0, {here, nowhere, nowhere}}, {1, {here, here, here}}, {2, {here, here, here}}};
    Side caller(places[0]);
    Side hidden[] = {Side(places[1]), Side(places[2])};
    for (const int rank : {1, 2}) {
        Side& one = hidden[rank - 1];
        places[0].others[static_cast<size_t>(rank)] = &places[rank];
        caller.connector.set_address(rank, one.connector.address());
        one.connector.set_address(0, caller.connector.address());
    }
    caller.connector.ensure_connected(1);
    expect_connected(caller, 0, hidden[0], 1);
    assert_true(places[0].has_asked(1) && !places[0].has_asked(2));
    caller.connector.ensure_connected(2);
    assert_true(places[0].has_asked(2));
    expect_connected(caller, 0, hidden[1], 2);
}

// That rank is named, and its limit, whichever of the two it is.
void expect_lack(Side& side, int peer, int own) {
    try {
        (void)side.connection(peer);
        fail_msg("there is a connection");
    } catch (const Error& error) {
        const Status& why = error.status();
        assert_int_equal(why.code, TUTTI_ERR_OUT_OF_MEMORY);
        assert_int_equal(why.rank, own);
        const std::string begin = cat("rank ", own, " cannot connect to rank ", peer, ": ");
        assert_true(why.message.starts_with(begin));
        assert_true(why.message.ends_with(" open files (ulimit -n)"));
    }
}

void who_has_no_descriptor_to_call_with_lacks_it(void**) {
    if (TYPES_SANITIZED) skip();  // it needs descriptors itself
    const Silent other;
    Place place(0, {here, here});
    Side caller(place);
    caller.connector.set_address(1, other.address());
    const test::NoDescriptors none;
    caller.connector.ensure_connected(1);
    expect_lack(caller, 1, 0);
}

// It still hears who calls: a stranger would be no reason.
void who_has_no_descriptor_to_be_called_with_lacks_it(void**) {
    if (TYPES_SANITIZED) skip();  // it needs descriptors itself
    const Silent other;
    Place place(0, {here, here});
    Side called(place);
    called.connector.set_address(1, other.address());
    const std::string address = called.connector.address();
    const int port = std::stoi(address.substr(0, address.find(' ')));
    net::Socket caller;
    std::vector<net::Descriptor> others;
    std::optional<test::LowLimit> limit;
    const auto call_and_run_out = [&] {
        limit.reset();
        net::Loop::shared()->run([&] {  // which accepts nobody meanwhile
            caller = net::Socket::connect({"127.0.0.1", port}, ample());
            limit.emplace(RLIMIT_NOFILE, 200);
            for (int one = ::dup(0); one >= 0; one = ::dup(0)) others.emplace_back(one);
        });
    };
    call_and_run_out();
    const std::string nonsense(Connector::handshake_bytes, 'x');
    caller.send_all(std::as_bytes(std::span(nonsense)), ample());
    std::byte nothing{};
    TUTTI_EXPECT_ERROR(caller.recv_all(std::span(&nothing, 1), ample()), TUTTI_ERR_NETWORK,
                       "closed");
    call_and_run_out();
    const Handshake handshake{.rank = 1, .secret = called.secret()};  // who it is
    caller.send_all(std::as_bytes(std::span(&handshake, 1)), ample());
    expect_lack(called, 1, 0);
}

void who_ends_gives_up_what_is_under_way(void**) {
    Pair none(nowhere, nowhere);
    none.low.connector.ensure_connected(1);
    none.high.connector.ensure_connected(0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(either_may_begin),
        TUTTI_TEST(both_may_begin_at_once),
        TUTTI_TEST(further_connections_follow_the_first),
        TUTTI_TEST(they_leave_from_each_address_in_turn),
        TUTTI_TEST(who_cannot_be_called_is_asked_to_call),
        TUTTI_TEST(who_never_answers_holds_nobody_once_it_is_lost),
        TUTTI_TEST(who_never_answers_holds_up_no_other_call),
        TUTTI_TEST(a_call_in_vain_holds_up_no_other),
        TUTTI_TEST(a_rank_that_left_before_its_call_came_through_is_waited_for_no_longer),
        TUTTI_TEST(a_rank_that_cannot_be_called_is_given_up_once_it_is_gone),
        TUTTI_TEST(a_rank_that_is_gone_is_not_called),
        TUTTI_TEST(the_answer_of_a_rank_that_has_left_is_taken),
        TUTTI_TEST(who_is_another_one_is_passed_over),
        TUTTI_TEST(who_is_on_the_host_of_one_that_cannot_be_called_is_asked_at_once),
        TUTTI_TEST(who_has_no_descriptor_to_call_with_lacks_it),
        TUTTI_TEST(who_has_no_descriptor_to_be_called_with_lacks_it),
        TUTTI_TEST(who_ends_gives_up_what_is_under_way),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
