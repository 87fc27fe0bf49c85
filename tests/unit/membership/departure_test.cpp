// A rank that leaves while the coordinator goes, too, waits for nobody who is gone. The test plays
// the coordinator, which is rank 0, and ranks that are gone: where those would listen nobody does.
#include <arpa/inet.h>
#include <sys/socket.h>

#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "members.hpp"
#include "membership/protocol.hpp"
#include "net/interfaces.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;
using membership::Endpoint;
using membership::Frame;
using membership::Kind;

constexpr int ranks = 3;
constexpr int64_t leave_ms = 20'000;  // what waiting for somebody would take

// A port at which callers are refused.
class DeadPort {
public:
    DeadPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        socklen_t size = sizeof address;
        assert_int_equal(::bind(socket_.get(), generic, size), 0);
        assert_int_equal(::getsockname(socket_.get(), generic, &size), 0);
        number = ntohs(address.sin_port);
    }
    int number = 0;

private:
    net::Descriptor socket_;
};

class PlayedCoordinator {
public:
    PlayedCoordinator() : door_(net::ListenSocket::bind("127.0.0.1", 0, 8)) {
        where.port = door_.port();
        where.token = membership::random_token();
        where.host = net::host_identity();
        where.addresses = {"127.0.0.1"};
    }
    // Until that rank, the only one that is real, has joined.
    void let_in(int rank) {
        line_ = door_.accept(ample());
        await(Kind::Handshake);
        say(membership::encode(Kind::Welcome));
        std::vector<Endpoint> roster(ranks, {{"127.0.0.1"}, dead_.number, where.host, ""});
        await(Kind::Hello, [&](const Frame& frame) {
            roster[static_cast<size_t>(rank)] = membership::decode_hello(frame).endpoint;
        });
        say(membership::encode(roster));
    }
    void say(const std::string& frame) { line_.send_all(std::as_bytes(std::span(frame)), ample()); }
    void await(Kind kind, const std::function<void(const Frame&)>& use = nullptr) {
        for (bool has_come = false; !has_come;) {
            std::byte byte{};
            line_.recv_all(std::span(&byte, 1), ample());
            frames_.feed(std::span(&byte, 1), [&](const Frame& frame) {
                has_come = frame.kind == kind;
                if (has_come && use) use(frame);
                return true;
            });
        }
    }
    void die() { line_.close(); }

    membership::Invitation where;

private:
    const net::ListenSocket door_;
    const DeadPort dead_;
    net::Socket line_;
    membership::FrameReader frames_;
};

// Rank 1 would be the next coordinator, rank 2 would look for rank 1.
void who_leaves_as_the_coordinator_dies_waits_for_nobody_who_is_gone(void**) {
    const struct {
        int rank;
        std::vector<int> left;  // as the coordinator says when it has the goodbye
    } cases[] = {{1, {2}}, {1, {0, 2}}, {2, {}}, {2, {1}}, {2, {0, 1}}};
    for (const auto& [rank, left] : cases) {
        PlayedCoordinator coordinator;
        auto coming = std::async(std::launch::async, [&, own = rank] {
            return std::make_unique<Member>(make_hash_store(), own, ranks, ample(),
                                            coordinator.where);
        });
        coordinator.let_in(rank);
        const auto member = coming.get();
        (*member)->world().set_leave_ms(leave_ms);
        const auto began = Deadline::Clock::now();
        auto leaving = std::async(std::launch::async, [&] { member->destroy(); });
        coordinator.await(Kind::Bye);
        if (!left.empty()) coordinator.say(membership::encode(Kind::Left, 0, left));
        coordinator.die();
        leaving.get();
        assert_true(Deadline::Clock::now() - began < std::chrono::milliseconds(leave_ms));
    }
}

}  // namespace

int main() {
    ::setenv("TUTTI_HEARTBEAT_TIMEOUT_MS", "0", 1);  // a busy machine is no silent coordinator
    const CMUnitTest tests[] = {
        TUTTI_TEST(who_leaves_as_the_coordinator_dies_waits_for_nobody_who_is_gone),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
