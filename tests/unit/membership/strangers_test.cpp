// Rank 0 and callers that are no members, or no longer behave like ones.
// Sockets that say by hand what a member would, or would not.
#include "net/socket.hpp"

#include <cstdlib>

#include "members.hpp"
#include "membership/invitation.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;
using membership::Endpoint;

void strangers_change_nothing(void**) {
    const auto store = make_hash_store();
    auto coming =
        std::async(std::launch::async, [&] { return std::make_unique<Member>(store, 0, 2); });
    const auto invitation = membership::Invitation::parse(store->get("tutti/control", ample()));
    const auto call = [&](const std::string& bytes) {
        auto socket =
            net::Socket::connect({invitation.addresses.front(), invitation.port}, ample());
        socket.send_all(std::as_bytes(std::span(bytes)), ample());
        return socket;
    };
    membership::Hello hello{invitation.token, 1, 2, Endpoint{{"127.0.0.1"}, 1, "here", ""}};
    membership::Hello no_token = hello;
    no_token.token.fill('x');
    std::vector<net::Socket> calls;
    calls.push_back(call("GET / HTTP/1.1\r\n\r\n"));
    calls.push_back(call(std::string(4, '\xff')));
    calls.push_back(call(std::string(4, '\0')));
    calls.push_back(call({'\0', '\0', '\x10', '\0', '\x0f'}));  // a frame of a MiB is to come
    calls.push_back(call(membership::encode(no_token)));
    calls.push_back(
        call(membership::encode(membership::Kind::Report, 0, {{TUTTI_ERR_BACKEND, 0, 0, "x"}})));
    const std::string cut = membership::encode(hello);
    call(cut.substr(0, cut.size() - 1)).close();
    // Each is shown the door.
    for (net::Socket& socket : calls) {
        std::byte byte{};
        TUTTI_EXPECT_ERROR(socket.recv_all(std::span(&byte, 1), ample()), TUTTI_ERR_NETWORK, "");
    }
    Member one(store, 1, 2);
    const auto zero = coming.get();
    assert_int_equal(zero->failures() + one.failures(), 0);
}

// A member that speaks nonsense once it belongs to the group has failed.
void a_member_gone_wrong_is_named(void**) {
    const auto store = make_hash_store();
    auto coming =
        std::async(std::launch::async, [&] { return std::make_unique<Member>(store, 0, 2); });
    const auto invitation = membership::Invitation::parse(store->get("tutti/control", ample()));
    auto socket = net::Socket::connect({invitation.addresses.front(), invitation.port}, ample());
    const std::string bytes =
        membership::encode(
            membership::Hello{invitation.token, 1, 2, Endpoint{{"127.0.0.1"}, 1, "here", ""}}) +
        membership::encode(membership::Kind::Report, std::string());  // cut short
    socket.send_all(std::as_bytes(std::span(bytes)), ample());
    Status status;
    try {  // whichever comes first, the roster or the failure
        status = coming.get()->failure();
    } catch (const Error& error) {
        status = error.status();
    }
    assert_int_equal(status.code, TUTTI_ERR_PEER_LOST);
    assert_int_equal(status.rank, 1);
}

void a_rank_that_falls_silent_is_named(void**) {
    ::setenv("TUTTI_HEARTBEAT_MS", "20", 1);
    ::setenv("TUTTI_HEARTBEAT_TIMEOUT_MS", "3000", 1);
    const auto store = make_hash_store();
    auto coming =
        std::async(std::launch::async, [&] { return std::make_unique<Member>(store, 0, 2); });
    const auto invitation = membership::Invitation::parse(store->get("tutti/control", ample()));
    ::setenv("TUTTI_HEARTBEAT_TIMEOUT_MS", "0", 1);
    auto socket = net::Socket::connect({invitation.addresses.front(), invitation.port}, ample());
    const std::string hello = membership::encode(
        membership::Hello{invitation.token, 1, 2, Endpoint{{"127.0.0.1"}, 1, "here", ""}});
    socket.send_all(std::as_bytes(std::span(hello)), ample());
    const auto zero = coming.get();
    const Status status = zero->failure();
    assert_int_equal(status.code, TUTTI_ERR_PEER_LOST);
    assert_int_equal(status.rank, 1);
    assert_string_equal(status.message.c_str(),
                        "rank 1 has not answered for 3000 ms (stopped or cut off)");
}

}  // namespace

int main() {
    // A busy machine must not look like a stopped rank.
    ::setenv("TUTTI_HEARTBEAT_TIMEOUT_MS", "0", 1);
    const CMUnitTest tests[] = {
        TUTTI_TEST(strangers_change_nothing),
        TUTTI_TEST(a_member_gone_wrong_is_named),
        TUTTI_TEST(a_rank_that_falls_silent_is_named),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
