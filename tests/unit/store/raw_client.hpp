// A store server and a client of bytes. They are written out here and not made with the engine's
// writer, which could share a mistake.
#pragma once

#include <array>
#include <span>

#include "net/socket.hpp"
#include "store/store.hpp"
#include "support/unit.hpp"

namespace tutti::test {

using net::Socket;
using namespace std::string_literals;

inline Deadline ample() {
    return Deadline::after_ms(60'000);
}

// As the protocol writes it: 64-bit little-endian, and so a length before the bytes.
inline std::string number(int64_t value) {
    std::string out;
    for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
    return out;
}
inline std::string text(const std::string& bytes) {
    return number(static_cast<int64_t>(bytes.size())) + bytes;
}

const std::string validate = "\x00\xCE\xF7\x85\x3C"s;
// How a client of tutti begins that is called so. Its server answers 0 and its limits.
inline std::string greeting_of(const std::string& name) {
    return validate + "\x05"s + number(2) + text("tutti/server") + text("tutti/hello/" + name);
}
constexpr size_t greeting_answer_bytes = 25;

struct Fixture {
    std::unique_ptr<StoreServer> server = make_store_server("127.0.0.1", 0);
    Socket socket = connect();

    Socket connect() { return Socket::connect({"127.0.0.1", server->port()}, ample()); }
    void send(const std::string& bytes) {
        socket.send_all(std::as_bytes(std::span(bytes)), ample());
    }
    std::string receive(size_t size) {
        std::string bytes(size, '\0');
        socket.recv_all(std::as_writable_bytes(std::span(bytes)), ample());
        return bytes;
    }
    void expect(const std::string& bytes) { assert_true(receive(bytes.size()) == bytes); }
    // PING and its answer: all before it has been answered, and nothing else was.
    void expect_nothing_more() {
        send("\x0D\x01\x02\x03\x04"s);
        expect("\x01\x02\x03\x04");
    }
    bool is_closed() {
        std::array<std::byte, 1> byte{};
        try {
            return socket.recv_some(byte, ample()) == 0;
        } catch (const Error& error) {
            // Bytes that the server had not read when it closed make a reset of the end of file.
            return error.status().code == TUTTI_ERR_NETWORK;
        }
    }
    // The server may hang up before it has seen all.
    bool is_refused(const std::string& bytes) {
        try {
            send(bytes);
        } catch (const Error& error) {
            return error.status().code == TUTTI_ERR_NETWORK;
        }
        return is_closed();
    }
    void expect_still_serving() {
        socket = connect();
        send(validate);
        expect_nothing_more();
    }
};

}  // namespace tutti::test
