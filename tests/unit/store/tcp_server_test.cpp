// The server against raw sockets that speak the documented bytes, or nonsense.
#include "raw_client.hpp"

namespace {

using namespace tutti::test;

void requests_are_answered_byte_for_byte(void**) {
    Fixture f;
    f.send(validate);
    f.send("\x01"s + text("/k") + text("value"));
    f.send("\x03"s + text("/k"));
    f.expect("\x05\0\0\0\0\0\0\0value"s);
    f.send("\x02"s + text("/k") + text("value") + text("new"));
    f.expect("\x03\0\0\0\0\0\0\0new"s);
    f.send("\x02"s + text("/none") + text("x") + text("y"));
    f.expect("\x01\0\0\0\0\0\0\0x"s);
    f.send("\x04"s + text("/n") + number(-3));
    f.expect("\xFD\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s);
    f.send("\x03"s + text("/n"));
    f.expect(text("-3"));
    f.send("\x05"s + number(2) + text("/k") + text("/n"));
    f.expect("\x00"s);
    f.send("\x05"s + number(2) + text("/k") + text("/none"));
    f.expect("\x01"s);
    f.send("\x06"s + number(1) + text("/k"));
    f.expect("\x00"s);
    f.send("\x07"s);
    f.expect(number(2));
    f.send("\x09"s + text("/k") + text("er"));
    f.send("\x0B"s + number(2) + text("/a") + text("1") + text("/b") + text(""));
    f.send("\x0A"s + number(3) + text("/b") + text("/k") + text("/a"));
    f.expect(text("") + text("newer") + text("1"));
    f.send("\x08"s + text("/k"));
    f.expect(number(1));
    f.send("\x08"s + text("/k"));
    f.expect(number(0));
    f.send("\x03"s + text("/k"));
    f.expect(text(""));
    f.expect_nothing_more();
}

void a_wait_is_answered_when_the_last_key_is_set(void**) {
    Fixture f;
    f.send(validate + "\x06"s + number(3) + text("/a") + text("/b") + text("/c"));
    Fixture other{tutti::make_store_server("127.0.0.1", 0)};
    other.socket = f.connect();
    other.send(validate);
    for (const char* key : {"/c", "/a"}) other.send("\x01"s + text(key) + text("x"));
    // A key that is deleted meanwhile is missing again.
    other.send("\x08"s + text("/c"));
    other.expect(number(1));
    other.send("\x01"s + text("/b") + text("x"));
    other.expect_nothing_more();
    assert_false(f.socket.readable());
    other.send("\x01"s + text("/c") + text("x"));
    f.expect("\x00"s);
}

void what_is_sent_behind_a_wait_is_answered_after_it(void**) {
    Fixture f;
    f.send(validate + "\x06"s + number(1) + text("/k") + "\x03"s + text("/k"));
    Socket waiting = std::move(f.socket);
    f.socket = f.connect();
    f.send(validate + "\x01"s + text("/k") + text("v"));
    f.expect_nothing_more();
    f.socket = std::move(waiting);
    f.expect("\x00"s + text("v"));
    f.expect_nothing_more();
}

void a_chain_of_waits_unblocks_from_one_set(void**) {
    Fixture f;
    constexpr int links = 200;
    std::vector<Socket> sockets;
    for (int i = 0; i < links; ++i) {
        sockets.push_back(f.connect());
        std::swap(f.socket, sockets.back());
        f.send(validate + "\x06"s + number(1) + text("/" + std::to_string(i)) + "\x01"s +
               text("/" + std::to_string(i + 1)) + text("x"));
        std::swap(f.socket, sockets.back());
    }
    f.send(validate + "\x01"s + text("/0") + text("x"));
    f.send("\x06"s + number(1) + text("/" + std::to_string(links)));
    f.expect("\x00"s);
}

void a_wait_can_be_called_off(void**) {
    Fixture f;
    f.send(validate + "\x06"s + number(1) + text("/k") + "\x03"s + text("/k"));
    f.send("\x0C");
    f.expect("\x01");
    f.send("\x01"s + text("/k") + text("v"));
    f.expect_nothing_more();
    // Too late: the wait was over, and both answers come.
    f.send("\x06"s + number(1) + text("/k") + "\x0C"s);
    f.expect("\x00\x01"s);
    f.expect_nothing_more();
}

void a_client_that_leaves_while_it_waits_is_forgotten(void**) {
    Fixture f;
    f.send(validate + "\x06"s + number(2) + text("/a") + text("/b") + "\x03"s + text("/a"));
    f.socket = f.connect();
    f.send(validate + "\x01"s + text("/a") + text("x"));
    f.send("\x01"s + text("/b") + text("x"));
    f.expect_nothing_more();
}

void a_client_of_tutti_finds_out_that_the_server_is_one(void**) {
    Fixture f;
    f.send(validate + "\x05"s + number(1) + text("tutti/server"));
    f.expect("\x00"s);
    f.send("\x07"s);
    f.expect(number(0));
}

void breaking_the_protocol_closes_that_connection_alone(void**) {
    const std::string huge = "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"s;
    const std::string cases[] = {
        "\x00\xCE\xF7\x85\x3D"s,                                  // another magic number
        "\x01"s + text("/k") + text("v"),                         // no VALIDATE first
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",                      // another protocol
        validate + "\x13",                                        // queries that are not there
        validate + "\xFF",                                        //
        validate + "\x03"s + huge,                                // lengths and counts
        validate + "\x01"s + text("/k") + huge,                   //
        validate + "\x06"s + huge,                                //
        validate + "\x0B"s + number(-1),                          //
        validate + "\x03"s + text(std::string(9000, 'k')),        //
        validate + "\x01"s + text("/t") + text("text") + "\x04"s  // adding to a text
            + text("/t") + number(1),
    };
    Fixture f;
    Socket bystander = f.connect();
    for (const std::string& bytes : cases) {
        f.socket = f.connect();
        f.send(bytes);
        assert_true(f.is_closed());
        f.expect_still_serving();
    }
    f.socket = std::move(bystander);
    f.send(validate);
    f.expect_nothing_more();
}

void too_many_requests_behind_a_wait_close_the_connection(void**) {
    Fixture f;
    std::string bytes = validate + "\x06"s + number(1) + text("/never");
    for (int i = 0; i < 100; ++i) bytes += "\x07";
    f.send(bytes);
    assert_true(f.is_closed());
    f.expect_still_serving();
}

void a_client_that_does_not_read_is_cut_off(void**) {
    Fixture f;
    f.send(validate + "\x01"s + text("/large") + text(std::string(16 << 20, 'x')));
    std::string bytes;
    for (int i = 0; i < 64; ++i) bytes += "\x03"s + text("/large");
    f.send(bytes);
    // 1 GiB of answers: the server gives up long before, and what it had written ends there.
    size_t received = 0;
    std::vector<std::byte> buffer(1 << 20);
    try {
        // Reading starts only when the server has dealt with all requests.
        Socket other = f.connect();
        std::swap(f.socket, other);
        f.send(validate);
        f.expect_nothing_more();
        std::swap(f.socket, other);
        while (const size_t count = f.socket.recv_some(buffer, ample())) received += count;
    } catch (const tutti::Error& error) {
        assert_int_equal(error.status().code, TUTTI_ERR_NETWORK);
    }
    assert_true(received < size_t{512} << 20);
    f.expect_still_serving();
}

void half_messages_hold_up_nobody(void**) {
    Fixture f;
    f.send(validate + "\x01"s + text("/k").substr(0, 9));
    Socket half = std::move(f.socket);
    f.expect_still_serving();
    f.socket = std::move(half);
    f.send("k"s + text("v"));
    f.send("\x03"s + text("/k"));
    f.expect(text("v"));
}

void what_was_sent_before_closing_arrives(void**) {
    Fixture f;
    for (int i = 0; i < 50; ++i) {
        f.socket = f.connect();
        f.send(validate + "\x01"s + text("/" + std::to_string(i)) + text("v"));
        f.socket.close();
        f.socket = f.connect();
        f.send(validate + "\x06"s + number(1) + text("/" + std::to_string(i)));
        f.expect("\x00"s);
    }
}

void a_server_can_end_with_clients_waiting(void**) {
    Fixture f;
    f.send(validate + "\x06"s + number(1) + text("/never") + "\x0D\x01\x02"s);
    f.server.reset();
    assert_true(f.is_closed());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(requests_are_answered_byte_for_byte),
        TUTTI_TEST(a_wait_is_answered_when_the_last_key_is_set),
        TUTTI_TEST(what_is_sent_behind_a_wait_is_answered_after_it),
        TUTTI_TEST(a_chain_of_waits_unblocks_from_one_set),
        TUTTI_TEST(a_wait_can_be_called_off),
        TUTTI_TEST(a_client_that_leaves_while_it_waits_is_forgotten),
        TUTTI_TEST(a_client_of_tutti_finds_out_that_the_server_is_one),
        TUTTI_TEST(breaking_the_protocol_closes_that_connection_alone),
        TUTTI_TEST(too_many_requests_behind_a_wait_close_the_connection),
        TUTTI_TEST(a_client_that_does_not_read_is_cut_off),
        TUTTI_TEST(half_messages_hold_up_nobody),
        TUTTI_TEST(what_was_sent_before_closing_arrives),
        TUTTI_TEST(a_server_can_end_with_clients_waiting),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
