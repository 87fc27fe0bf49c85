// A rank whose coordinator goes: if the rank leaves, too, it waits for nobody who is gone, and if
// it cannot reach the next one for want of descriptors, it blames nobody else. The test plays the
// coordinator, and ranks that are gone: where those would listen nobody does.
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
#include "support/limits.hpp"
#include "support/sanitizers.h"

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
    explicit PlayedCoordinator(int rank) : door_(net::ListenSocket::bind("127.0.0.1", 0, 8)) {
        where.rank = rank;
        where.port = door_.port();
        where.token = membership::random_token();
        where.host = net::host_identity();
        where.addresses = {"127.0.0.1"};
    }
    // The only real rank, once it has joined.
    std::unique_ptr<Member> let_in(int rank) {
        auto coming = std::async(std::launch::async, [this, rank] {
            return std::make_unique<Member>(make_hash_store(), rank, ranks, ample(), where);
        });
        line_ = door_.accept(ample());
        await(Kind::Handshake);
        say(membership::encode(Kind::Welcome));
        std::vector<Endpoint> roster(ranks, {{"127.0.0.1"}, dead_.number, where.host, ""});
        await(Kind::Hello, [&](const Frame& frame) {
            roster[static_cast<size_t>(rank)] = membership::decode_hello(frame).endpoint;
        });
        say(membership::encode(roster));
        return coming.get();
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
        PlayedCoordinator coordinator(0);
        const auto member = coordinator.let_in(rank);
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

// The one before was no rank, so nobody is lost with it.
void who_cannot_reach_the_next_coordinator_for_want_of_descriptors_says_so(void**) {
    if (TYPES_SANITIZED) skip();  // it needs descriptors itself
    PlayedCoordinator coordinator(membership::nobody);
    const auto member = coordinator.let_in(2);
    const NoDescriptors none;
    coordinator.die();
    const Status why = member->failure();
    assert_int_equal(why.code, TUTTI_ERR_OUT_OF_MEMORY);
    assert_int_equal(why.rank, 2);
    assert_true(why.message.starts_with("rank 2 cannot reach the next coordinator: "));
    assert_true(why.message.ends_with("this process may have 3 open files (ulimit -n)"));
}

}  // namespace

int main() {
    ::setenv("TUTTI_HEARTBEAT_TIMEOUT_MS", "0", 1);  // a busy machine is no silent coordinator
    const CMUnitTest tests[] = {
        TUTTI_TEST(who_leaves_as_the_coordinator_dies_waits_for_nobody_who_is_gone),
        TUTTI_TEST(who_cannot_reach_the_next_coordinator_for_want_of_descriptors_says_so),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
