// Two ranks that connect to each other: either, both at once, and one that cannot be called.
#include "transport/connector.hpp"

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "net/socket.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;
using membership::Frame;
using membership::FrameReader;

const std::vector<std::string> here{"127.0.0.1"};
const std::vector<std::string> nowhere{"127.0.0.2"};  // nobody listens there

Deadline ample() {
    return Deadline::after_ms(60'000);
}

// One of two ranks; what it tells, the other hears.
class Place final : public World {
public:
    Place(int rank, std::vector<std::string> way_to_other) : World(rank, 2) {
        ways_[static_cast<size_t>(rank)] = here;
        ways_[static_cast<size_t>(1 - rank)] = std::move(way_to_other);
    }

    Place* other = nullptr;

    [[nodiscard]] std::string identity() const override { return "two"; }
    [[nodiscard]] bool same_host(int) const override { return false; }
    [[nodiscard]] Routes routes() const override { return {here, ways_}; }
    void tell(std::string bytes) noexcept override {
        FrameReader().feed(std::as_bytes(std::span(bytes)), [this](const Frame& frame) {
            assert_int_equal(static_cast<int>(frame.kind),
                             static_cast<int>(membership::Kind::Connect));
            other->hear_of(rank());
            return true;
        });
    }
    void lose(int rank) {
        hear_bytes(membership::encode(membership::Kind::Lost,
                                      Status{TUTTI_ERR_PEER_LOST, rank, 0, "it is silent"}));
    }
    void suspect(const Status&) noexcept override {}
    void leave() noexcept override {}

private:
    void hear_of(int rank) { hear_bytes(membership::encode(membership::Kind::Connect, rank)); }
    void hear_bytes(const std::string& bytes) {
        FrameReader().feed(std::as_bytes(std::span(bytes)), [this](const Frame& frame) {
            hear(frame);
            return true;
        });
    }

    std::vector<std::vector<std::string>> ways_{2};
};

// What became of a rank's connection.
class Side {
public:
    explicit Side(Place& place)
        : connector(place, {[this](int, net::Socket socket) { made_.set_value(std::move(socket)); },
                            [this](int, const Status& why) {
                                made_.set_exception(std::make_exception_ptr(Error(why)));
                            }}) {}

    net::Socket connection() {
        auto made = made_.get_future();
        if (made.wait_until(ample().when()) != std::future_status::ready) {
            throw Error(TUTTI_ERR_TIMEOUT, "there is no connection");
        }
        return made.get();
    }

private:
    std::promise<net::Socket> made_;  // a second one would throw

public:
    Connector connector;
};

struct Pair {
    explicit Pair(const std::vector<std::string>& from_0_to_1 = here,
                  const std::vector<std::string>& from_1_to_0 = here)
        : places{{0, from_0_to_1}, {1, from_1_to_0}} {
        places[0].other = &places[1];
        places[1].other = &places[0];
        low.connector.know(1, high.connector.address());
        high.connector.know(0, low.connector.address());
    }
    // Both have the ends of one connection.
    void expect_connected() {
        net::Socket at_low = low.connection();
        net::Socket at_high = high.connection();
        const char said = 'x';
        char heard = 0;
        at_low.send_all(std::as_bytes(std::span(&said, 1)), ample());
        at_high.recv_all(std::as_writable_bytes(std::span(&heard, 1)), ample());
        assert_int_equal(heard, said);
    }

    Place places[2];
    Side low{places[0]}, high{places[1]};
};

void either_may_begin(void**) {
    Pair low_begins;
    low_begins.low.connector.want(1);
    low_begins.expect_connected();
    Pair high_begins;
    high_begins.high.connector.want(0);
    high_begins.high.connector.want(0);  // under way, or done
    high_begins.expect_connected();
}

void both_may_begin_at_once(void**) {
    for (int round = 0; round < 100; ++round) {
        Pair both;
        auto other = std::async(std::launch::async, [&] { both.high.connector.want(0); });
        both.low.connector.want(1);
        other.get();
        both.expect_connected();
    }
}

// As behind a router that lets nobody in.
void who_cannot_be_called_is_asked_to_call(void**) {
    Pair high_is_hidden(nowhere, here);
    high_is_hidden.low.connector.want(1);
    high_is_hidden.expect_connected();
    Pair low_is_hidden(here, nowhere);
    low_is_hidden.high.connector.want(0);
    low_is_hidden.expect_connected();
    Pair both_want(nowhere, here);
    both_want.low.connector.want(1);
    both_want.high.connector.want(0);
    both_want.expect_connected();
}

// As one that is stopped: its system answers for it.
void who_never_answers_holds_nobody_once_it_is_lost(void**) {
    const auto silent = net::ListenSocket::bind("127.0.0.1", 0, 8);
    Place place(0, here);
    Side low(place);
    low.connector.know(1, cat(silent.port(), " ", std::string(32, '0')));
    low.connector.want(1);
    const net::Socket taken = silent.accept(ample());
    place.lose(1);
    TUTTI_EXPECT_ERROR(low.connection(), TUTTI_ERR_TIMEOUT, "rank 0 cannot connect to rank 1");
}

void who_ends_gives_up_what_is_under_way(void**) {
    Pair none(nowhere, nowhere);
    none.low.connector.want(1);
    none.high.connector.want(0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(either_may_begin),
        TUTTI_TEST(both_may_begin_at_once),
        TUTTI_TEST(who_cannot_be_called_is_asked_to_call),
        TUTTI_TEST(who_never_answers_holds_nobody_once_it_is_lost),
        TUTTI_TEST(who_ends_gives_up_what_is_under_way),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
