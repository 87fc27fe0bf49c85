// A coordinator that follows another one, and the messages that ranks send again. Sockets say by
// hand what members would.
#include "membership/coordinator.hpp"

#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "membership/protocol.hpp"
#include "net/loop.hpp"
#include "net/socket.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;
using namespace tutti::membership;

constexpr int ranks = 4;

Deadline ample() {
    return Deadline::after_ms(60'000);
}

// A member's connection.
class Line {
public:
    explicit Line(net::Socket socket) : socket_(std::move(socket)) {}
    void say(const std::string& bytes) {
        socket_.send_all(std::as_bytes(std::span(bytes)), ample());
    }
    // Reads until `use` has found what it looks for in a frame.
    template <typename Use>
    void receive(Use&& use) {
        bool found = false;
        while (!found) {
            std::byte byte{};
            socket_.recv_all(std::span(&byte, 1), ample());
            frames_.feed(std::span(&byte, 1), [&](const Frame& frame) {
                found = use(frame);
                return true;
            });
        }
    }
    void receive(Kind kind) {
        receive([kind](const Frame& frame) { return frame.kind == kind; });
    }

private:
    net::Socket socket_;
    FrameReader frames_;
};

// Rank 1 coordinates, since rank 0 died.
class Follower {
public:
    explicit Follower(bool has_slept = false, const Heartbeat& heartbeat = {100, 0})
        : loop_(net::Loop::shared()) {
        auto socket = net::ListenSocket::bind("127.0.0.1", 0, 8);
        port_ = socket.port();
        Coordinator::State state;
        state.endpoints.resize(ranks, endpoint());
        state.losses[0] = {TUTTI_ERR_PEER_LOST, 0, 0, "rank 0 died"};
        state.has_slept = has_slept;
        std::vector<int> descriptors{socket.release()};
        loop_->run([&] {
            coordinator_.emplace(*loop_, std::move(descriptors), 1, ranks, token_, heartbeat);
            coordinator_->restore(state);
            coordinator_->when_ruled_out([this](const Status& why) { ruled_out_.set_value(why); });
        });
    }
    ~Follower() {
        loop_->run([&] { coordinator_.reset(); });
    }
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

    Line enter(int rank, bool has_slept = false) {
        Line line(net::Socket::connect(net::Endpoint{"127.0.0.1", port_}, ample()));
        line.say(encode(Hello{token_, rank, ranks, endpoint(), has_slept}));
        return line;
    }
    // An awaited rank does not run any more.
    void is_gone(int rank) {
        loop_->run([&] { coordinator_->is_gone(rank, {TUTTI_ERR_NETWORK, rank, 0, "refused"}); });
    }
    Status await_ruling() { return ruled_out_.get_future().get(); }

private:
    static Endpoint endpoint() { return {{"127.0.0.1"}, 1, "here", ""}; }

    const std::shared_ptr<net::Loop> loop_;
    const Token token_ = random_token();
    int port_ = 0;
    std::promise<Status> ruled_out_;
    std::optional<Coordinator> coordinator_;
};

const std::string suspicion =
    encode(Kind::Suspect, Status{TUTTI_ERR_PEER_LOST, 3, 0, "the connection broke"});

void a_suspicion_that_is_said_again_counts_although_its_rank_is_still_to_come(void**) {
    Follower follower;
    Line suspects = follower.enter(2);
    suspects.say(suspicion + encode(Kind::QueryMissing));
    suspects.receive(Kind::Missing);  // the answer: what came before has been heard, too
    const Line own = follower.enter(1);
    Line suspected = follower.enter(3);
    suspected.receive(Kind::Doubt);
    suspected.say(encode(Kind::Here));
    suspects.receive([](const Frame& frame) {
        return frame.kind == Kind::Lost && decode_status(frame).rank == 3;
    });
}

// And it is no failure if that rank says goodbye, or said so before.
void a_farewell_that_is_said_again_explains_it(void**) {
    Follower follower;
    Line suspects = follower.enter(2);
    suspects.say(suspicion + encode(Kind::QueryMissing));
    suspects.receive(Kind::Missing);
    const Line own = follower.enter(1);
    Line suspected = follower.enter(3);
    suspected.say(encode(Kind::Bye, 0, std::vector<int>{}));
    suspected.receive(Kind::ByeAck);
    Status verdict;
    suspects.say(encode(Kind::Report, 0, Failure{{TUTTI_ERR_BACKEND, 2, 0, "the end"}}));
    suspects.receive([&](const Frame& frame) {
        if (frame.kind == Kind::Lost) assert_int_equal(decode_status(frame).rank, 0);
        if (frame.kind == Kind::Verdict) verdict = decode_failure(frame).content.cause;
        return frame.kind == Kind::Verdict;
    });
    assert_string_equal(verdict.message.c_str(), "the end");
}

void expect_ruled_out(Follower& follower) {
    const Status why = follower.await_ruling();
    assert_non_null(std::strstr(why.message.c_str(), "did not run for a while"));
}

void await_loss(Line& line, int rank) {
    line.receive([rank](const Frame& frame) {
        return frame.kind == Kind::Lost && decode_status(frame).rank == rank;
    });
}

// The others have gone on and ended meanwhile.
void ranks_that_have_all_slept_make_no_group_of_their_own(void**) {
    for (const bool ends_first : {true, false}) {
        Follower follower(true);
        const Line own = follower.enter(1, true);
        if (ends_first) follower.is_gone(2);
        Line other = follower.enter(3, true);
        if (!ends_first) {
            other.say(encode(Kind::QueryMissing));
            other.receive(Kind::Missing);  // it has come
            follower.is_gone(2);
        }
        expect_ruled_out(follower);
    }
}

void a_rank_that_slept_coordinates_those_that_were_awake(void**) {
    Follower follower(true);
    const Line own = follower.enter(1, true);
    Line awake = follower.enter(3);
    awake.say(encode(Kind::QueryMissing));
    awake.receive(Kind::Missing);
    follower.is_gone(2);
    await_loss(awake, 2);
}

// It called while this process did not run, and gave up.
void a_rank_that_slept_believes_one_that_was_awake(void**) {
    Follower follower(true, {100, 600'000});
    const Line own = follower.enter(1, true);
    Line awake = follower.enter(3);
    awake.say(encode(Kind::RuledOut, {TUTTI_ERR_PEER_LOST, 1, 0, "it was silent"}));
    assert_string_equal(follower.await_ruling().message.c_str(), "it was silent");
}

// Its first connection has ended, though only its own side knows.
void a_rank_that_connects_again_is_told_that_it_is_lost(void**) {
    Follower follower;
    Line other = follower.enter(3);
    Line first = follower.enter(2);
    first.say(encode(Kind::QueryMissing));
    first.receive(Kind::Missing);
    Line again = follower.enter(2);
    await_loss(again, 2);
    await_loss(other, 2);
}

// A later death is that of one rank.
void ranks_that_have_slept_go_on_if_no_other_has(void**) {
    Follower follower(true);
    const Line own = follower.enter(1, true);
    Line third = follower.enter(3, true);
    {
        Line second = follower.enter(2, true);
        second.say(encode(Kind::QueryMissing));
        second.receive(Kind::Missing);
    }
    await_loss(third, 2);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_suspicion_that_is_said_again_counts_although_its_rank_is_still_to_come),
        TUTTI_TEST(a_farewell_that_is_said_again_explains_it),
        TUTTI_TEST(a_rank_that_slept_coordinates_those_that_were_awake),
        TUTTI_TEST(a_rank_that_slept_believes_one_that_was_awake),
        TUTTI_TEST(ranks_that_have_all_slept_make_no_group_of_their_own),
        TUTTI_TEST(a_rank_that_connects_again_is_told_that_it_is_lost),
        TUTTI_TEST(ranks_that_have_slept_go_on_if_no_other_has),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
