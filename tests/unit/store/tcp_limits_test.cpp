// The limits of a server: what is beyond them costs that request's connection, the reason can be
// asked for, and the server goes on. Clients of tutti keep them by themselves.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "net/pending_peers.hpp"
#include "raw_client.hpp"
#include "store/tcp_server.hpp"
#include "support/limits.hpp"
#include "support/sanitizers.h"

namespace {

using namespace tutti::test;
using tutti::Deadline;
using tutti::net::Descriptor;
using tutti::net::ListenSocket;
using Names = std::vector<std::string>;

Fixture with_limits(const tutti::StoreLimits& limits) {
    return Fixture{tutti::make_store_server("127.0.0.1", 0, limits)};
}

std::string set(const std::string& key, size_t bytes) {
    return "\x01"s + text(key) + text(std::string(bytes, 'x'));
}

std::shared_ptr<tutti::Store> client_of(const Fixture& f) {
    tutti::TcpStoreOptions options;
    options.host = "127.0.0.1";
    options.port = f.server->port();
    options.timeout_ms = 60'000;
    return tutti::make_tcp_store(options);
}

void a_client_is_told_the_limits(void**) {
    Fixture f = with_limits({.key_bytes = 100, .value_bytes = 2000, .keys_per_request = 30});
    f.send(greeting_of("me"));
    f.expect("\x00"s + number(100) + number(2000) + number(30));
    f.expect_nothing_more();
}

void keys_and_values_beyond_the_limits_are_refused(void**) {
    Fixture f = with_limits({.key_bytes = 100, .value_bytes = 2000, .keys_per_request = 3});
    std::string three_keys = number(3), four_keys = number(4);
    for (int i = 0; i < 3; ++i) three_keys += text("/k");
    for (int i = 0; i < 4; ++i) four_keys += text("/k");
    f.send(validate + set('/' + std::string(100, 'k'), 2000) + "\x05"s + three_keys);
    f.expect("\x01"s);
    for (const std::string& request :
         {set('/' + std::string(101, 'k'), 1), set("/k", 2001), "\x05"s + four_keys}) {
        f.expect_still_serving();
        assert_true(f.is_refused(request));
    }
    f.expect_still_serving();
}

void the_reason_of_a_refusal_can_be_asked_for(void**) {
    Fixture f = with_limits({.value_bytes = 2000});
    f.send(greeting_of("first") + set("/k", 2001));
    f.receive(greeting_answer_bytes);
    assert_true(f.is_closed());
    f.expect_still_serving();
    const auto ask = [&](const std::string& name) {
        f.send("\x03"s + text("tutti/refusal/" + name));
        uint64_t size = 0;
        std::memcpy(&size, f.receive(8).data(), sizeof size);
        return f.receive(size);
    };
    const std::string reason = ask("first");
    assert_true(reason.find("2001 bytes is too long, at most 2000") != std::string::npos);
    assert_string_equal(ask("second").c_str(), "");
}

void a_server_whose_memory_is_full_can_be_read_and_emptied(void**) {
    Fixture f = with_limits({.memory_bytes = 600'000});
    f.send(validate + set("/a", 400'000));
    f.expect_nothing_more();
    const std::string large(250'000, 'x');
    for (const std::string& request :
         {set("/b", large.size()), "\x0E"s + text("/q") + text(large),
          "\x09"s + text("/a") + text(large), "\x02"s + text("/b") + text("") + text(large),
          "\x0B"s + number(1) + text("/b") + text(large)}) {
        f.expect_still_serving();
        assert_true(f.is_refused(request));
    }
    f.expect_still_serving();
    f.send("\x05"s + number(1) + text("/b") + "\x10"s + text("/q"));
    f.expect("\x01"s + number(0));
    f.send(set("/a", 100'000) + "\x08"s + text("/a"));
    f.expect(number(1));
    for (int i = 0; i < 50; ++i) {  // what is gone is not counted any more
        f.send(set("/b", 200'000) + "\x0E"s + text("/q") + text(std::string(50'000, 'x')));
        f.send("\x0F"s + text("/q") + "\x08"s + text("/b"));
        f.expect(number(1) + text(std::string(50'000, 'x')) + number(1));
    }
    f.expect_nothing_more();
}

void half_requests_count_and_cost_a_connection(void**) {
    Fixture f = with_limits({.memory_bytes = 1'000'000});
    const std::string half =
        validate + "\x01"s + text("/k") + number(400'000) + std::string(300'000, 'x');
    std::vector<Socket> sockets;
    std::vector<pollfd> entries;
    for (int i = 0; i < 4; ++i) {
        sockets.push_back(f.connect());
        std::swap(f.socket, sockets.back());
        try {
            f.send(half);
        } catch (const tutti::Error&) {  // it is the one
        }
        std::swap(f.socket, sockets.back());
        entries.push_back({sockets.back().descriptor(), POLLIN, 0});
    }
    // Four are too many; which one is refused depends on whose bytes came last.
    assert_true(::poll(entries.data(), entries.size(), 60'000) > 0);
    f.expect_still_serving();
    f.send(set("/small", 1000));
    f.expect_nothing_more();
    assert_int_equal(::poll(entries.data(), entries.size(), 0), 1);
    for (size_t i = 0; i < sockets.size(); ++i)
        if (entries[i].revents == 0) f.socket = std::move(sockets[i]);
    sockets.clear();
    f.send(std::string(100'000, 'x'));
    f.expect_nothing_more();
}

void what_waits_behind_a_wait_counts_and_is_given_back(void**) {
    Fixture f = with_limits({.memory_bytes = 1'000'000});
    Socket other = f.connect();
    for (int round = 0; round < 5; ++round) {
        f.send((round == 0 ? validate : "") + "\x06"s + number(1) + text("/w") +
               set("/k", 700'000));
        std::swap(f.socket, other);
        if (round == 0) f.send(validate);
        f.expect_nothing_more();
        std::swap(f.socket, other);
        f.send("\x0C"s);
        f.expect("\x01"s);
    }
    f.expect_nothing_more();
}

void keys_that_are_waited_for_count(void**) {
    Fixture f = with_limits({.memory_bytes = 1'000'000});
    std::string wait = validate + "\x06"s + number(700);
    for (int i = 0; i < 700; ++i) wait += text(std::string(900, 'k') + std::to_string(i));
    std::vector<Socket> sockets;
    std::vector<pollfd> entries;
    for (int i = 0; i < 2; ++i) {
        sockets.push_back(f.connect());
        std::swap(f.socket, sockets.back());
        try {
            f.send(wait);
        } catch (const tutti::Error&) {  // it is the one
        }
        std::swap(f.socket, sockets.back());
        entries.push_back({sockets.back().descriptor(), POLLIN, 0});
    }
    // Two are too many.
    assert_true(::poll(entries.data(), entries.size(), 60'000) > 0);
    f.expect_still_serving();
    assert_int_equal(::poll(entries.data(), entries.size(), 0), 1);
    f.socket = std::move(sockets[entries[0].revents == 0 ? 0 : 1]);
    f.send("\x0C"s);  // given back with the wait
    f.expect("\x01"s);
    f.send(set("/large", 700'000));
    f.expect_nothing_more();
}

void a_full_server_says_so_to_clients_of_tutti_and_hangs_up_on_others(void**) {
    Fixture f = with_limits({.connections = 2});
    Socket second = f.connect();
    f.send(validate);
    std::swap(f.socket, second);
    f.send(validate);
    f.expect_nothing_more();
    for (int round = 0; round < 3; ++round) {
        Socket third = f.connect();
        std::swap(f.socket, third);
        f.send(greeting_of("me"));
        f.expect("\x02"s);
        assert_true(f.is_closed());
        f.socket = f.connect();
        f.send(validate + "\x0D\x01\x02\x03\x04"s);
        assert_true(f.is_closed());
        std::swap(f.socket, third);
        f.expect_nothing_more();
    }
    TUTTI_EXPECT_ERROR(client_of(f), TUTTI_ERR_STORE, "the server is full");
    second.close();
    // The place is free as soon as the server has seen the end.
    for (bool served = false; !served;) {
        try {
            client_of(f)->set("k", "v", ample());
            served = true;
        } catch (const tutti::Error& error) {
            assert_int_equal(error.status().code, TUTTI_ERR_STORE);
        }
    }
    f.expect_nothing_more();
}

void silent_clients_of_a_full_server_make_room_for_each_other(void**) {
    Fixture f = with_limits({.connections = 1});
    f.send(validate);
    f.expect_nothing_more();
    std::vector<Socket> silent;
    for (int i = 0; i < 100; ++i) silent.push_back(f.connect());
    std::swap(f.socket, silent.front());
    assert_true(f.is_closed());
    std::swap(f.socket, silent.back());
    f.send(greeting_of("me"));
    f.expect("\x02"s);
    assert_true(f.is_closed());
    std::swap(f.socket, silent.front());
    std::swap(f.socket, silent.back());
}

void idle_strangers_make_room_for_clients(void**) {
    Fixture f = with_limits({.connections = 3});
    f.send(validate);
    f.expect_nothing_more();
    std::vector<Socket> idle;
    for (int i = 0; i < 10; ++i) idle.push_back(f.connect());
    const auto store = client_of(f);
    store->set("k", "v", ample());
    assert_string_equal(store->get("k", ample()).c_str(), "v");
    f.expect_nothing_more();
    std::swap(f.socket, idle.front());
    assert_true(f.is_closed());
    std::swap(f.socket, idle.front());
}

// Half of what a client says first makes no client.
void a_stranger_that_trickles_is_a_stranger(void**) {
    Fixture f = with_limits({.connections = 1});
    f.send(validate.substr(0, 3));
    const auto store = client_of(f);
    store->set("k", "v", ample());
    assert_true(f.is_closed());
}

void a_server_leaves_descriptors_to_the_rest_of_the_process(void**) {
    const tutti::test::LowLimit limit(RLIMIT_NOFILE, 128);
    std::vector<tutti::net::Descriptor> others;
    while (tutti::net::free_descriptors() > 40) others.emplace_back(::dup(0));
    Fixture f;
    std::vector<Socket> idle;
    // Some of them here, some in the server.
    for (int i = 0; i < 12; ++i) idle.push_back(f.connect());
    assert_true(tutti::net::free_descriptors() > 0);
    client_of(f)->set("k", "v", ample());
}

// The process has none for a client, and strangers have some.
void strangers_give_back_descriptors(void**) {
    Fixture f;
    f.send(validate);
    f.expect_nothing_more();
    const size_t at_first = tutti::net::free_descriptors();
    std::vector<Socket> idle;
    for (int i = 0; i < 5; ++i) idle.push_back(f.connect());
    // All are let in: each takes one here and one in the server.
    while (tutti::net::free_descriptors() + 2 * idle.size() > at_first) std::this_thread::yield();
    const size_t before = tutti::net::free_descriptors();
    const int lowest = ::dup(0);
    ::close(lowest);
    const Socket late = [&] {
        // One for its own end.
        const tutti::test::LowLimit limit(RLIMIT_NOFILE, static_cast<rlim_t>(lowest) + 1);
        Socket socket = f.connect();
        std::swap(f.socket, idle.front());
        assert_true(f.is_closed());
        std::swap(f.socket, idle.front());
        std::swap(f.socket, socket);
        f.send(validate);
        f.expect_nothing_more();
        std::swap(f.socket, socket);
        return socket;
    }();
    assert_int_equal(tutti::net::free_descriptors(), before - 1);
}

void who_waits_for_clients_hears_that_none_can_be_let_in(void**) {
    std::vector<ListenSocket> sockets;
    sockets.push_back(ListenSocket::bind("127.0.0.1", 0, 8));
    const tutti::net::Address address = tutti::net::local_address_of(sockets[0].descriptor());
    tutti::TcpServer server(std::move(sockets), {});
    const auto wait = [&] {
        return server.wait_for_joined(1, Deadline::never());  // a time-out would be a hang
    };
    const Descriptor caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    {
        const tutti::test::NoDescriptors none;
        assert_int_equal(::connect(caller.get(), address.get(), address.size), 0);
        TUTTI_EXPECT_ERROR(wait(), TUTTI_ERR_OUT_OF_MEMORY,
                           "this process may have 3 open files (ulimit -n)");
    }
    tutti::TcpStoreOptions options;
    options.host = "127.0.0.1";
    options.port = server.port();
    options.world_size = 1;
    const auto store = tutti::make_tcp_store(options);  // joins
    assert_int_equal(wait(), 1);
}

void a_master_without_descriptors_does_not_wait_for_itself(void**) {
    if (TYPES_SANITIZED) skip();  // it needs descriptors itself
    tutti::TcpStoreOptions options;
    options.is_master = true;
    options.timeout_ms = -1;  // else it would end in any case
    const int lowest = ::dup(0);
    ::close(lowest);
    for (int more = 0;; ++more) {
        try {
            const tutti::test::LowLimit limit(RLIMIT_NOFILE, static_cast<rlim_t>(lowest + more));
            (void)tutti::make_tcp_store(options);
            return;
        } catch (const tutti::Error& error) {
            assert_int_equal(error.status().code, TUTTI_ERR_OUT_OF_MEMORY);
            assert_true(error.status().message.find("(ulimit -n)") != std::string::npos);
        }
    }
}

void clients_keep_the_limits_by_themselves(void**) {
    Fixture f = with_limits({.key_bytes = 8, .value_bytes = 20, .keys_per_request = 2});
    const auto store = client_of(f);
    const auto prefixed = tutti::make_prefix_store("prefix", store);
    const std::string value(20, 'x'), longer(21, 'x');
    const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;
    store->set("12345678", value, ample());
    prefixed->set("1", value, ample());
    const std::vector<std::pair<std::string, std::string>> three(3);
    TUTTI_EXPECT_ERROR(prefixed->set("12", "", ample()), bad, "9 bytes; at most 8 ");
    TUTTI_EXPECT_ERROR(store->set("k", longer, ample()), bad, "21 bytes; at most 20 ");
    TUTTI_EXPECT_ERROR(store->append("k", longer, ample()), bad, "21 bytes");
    TUTTI_EXPECT_ERROR(store->queue_push("k", longer, ample()), bad, "21 bytes");
    TUTTI_EXPECT_ERROR(store->compare_set("k", longer, "", ample()), bad, "21 bytes");
    TUTTI_EXPECT_ERROR(store->multi_set(three, ample()), bad, "3 keys in one call; at most 2 ");
    TUTTI_EXPECT_ERROR(store->multi_get(Names(3), ample()), bad, "3 keys");
    TUTTI_EXPECT_ERROR(store->barrier("123456789", 1, ample()), bad, "at most 8 ");
    TUTTI_EXPECT_ERROR(store->clone(ample())->set("k", longer, ample()), bad, "21 bytes");
    assert_true(store->get("12345678", ample()) == value);
}

void what_the_server_refuses_is_reported_with_its_reason(void**) {
    Fixture f = with_limits({.value_bytes = 200'000, .memory_bytes = 100'000});
    const auto store = client_of(f);
    store->set("small", "v", ample());
    store->set("large", std::string(150'000, 'x'), ample());
    TUTTI_EXPECT_ERROR(
        store->get("small", ample()), TUTTI_ERR_STORE,
        "would hold more than its limit, 100000; an earlier set of key \"large\" may be lost");
    assert_string_equal(store->get("small", ample()).c_str(), "v");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_client_is_told_the_limits),
        TUTTI_TEST(keys_and_values_beyond_the_limits_are_refused),
        TUTTI_TEST(the_reason_of_a_refusal_can_be_asked_for),
        TUTTI_TEST(a_server_whose_memory_is_full_can_be_read_and_emptied),
        TUTTI_TEST(half_requests_count_and_cost_a_connection),
        TUTTI_TEST(what_waits_behind_a_wait_counts_and_is_given_back),
        TUTTI_TEST(keys_that_are_waited_for_count),
        TUTTI_TEST(a_full_server_says_so_to_clients_of_tutti_and_hangs_up_on_others),
        TUTTI_TEST(silent_clients_of_a_full_server_make_room_for_each_other),
        TUTTI_TEST(idle_strangers_make_room_for_clients),
        TUTTI_TEST(a_stranger_that_trickles_is_a_stranger),
        TUTTI_TEST(a_server_leaves_descriptors_to_the_rest_of_the_process),
        TUTTI_TEST(strangers_give_back_descriptors),
        TUTTI_TEST(who_waits_for_clients_hears_that_none_can_be_let_in),
        TUTTI_TEST(a_master_without_descriptors_does_not_wait_for_itself),
        TUTTI_TEST(clients_keep_the_limits_by_themselves),
        TUTTI_TEST(what_the_server_refuses_is_reported_with_its_reason),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
