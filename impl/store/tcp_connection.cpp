// Reading and writing the client's side of the store protocol. One thread at a time.
#include "tcp_connection.hpp"

#include <poll.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "limits.hpp"

namespace tutti {

using protocol::Query;
using protocol::Writer;

TcpConnection::TcpConnection(net::Socket socket, const Deadline& deadline)
    : socket_(std::move(socket)) {
    send(Writer(Query::Validate)
             .number32(protocol::validation_magic)
             .query(Query::Check)
             .count(1)
             .bytes(protocol::tutti_key)
             .take(),
         deadline);
    server_is_tutti_ = read_byte(deadline) == protocol::check_ready;
}

void TcpConnection::send(const std::string& message, const Deadline& deadline,
                         std::string unconfirmed) {
    socket_.send_all(std::as_bytes(std::span(message)), deadline);
    if (!unconfirmed.empty()) unconfirmed_ = std::move(unconfirmed);
}

uint8_t TcpConnection::read_byte(const Deadline& deadline) {
    std::array<std::byte, 1> byte{};
    socket_.recv_all(byte, deadline);
    unconfirmed_.clear();
    return std::to_integer<uint8_t>(byte[0]);
}

int64_t TcpConnection::read_number(const Deadline& deadline) {
    std::array<std::byte, 8> bytes{};
    socket_.recv_all(bytes, deadline);
    unconfirmed_.clear();
    uint64_t value = 0;
    for (size_t i = 0; i < bytes.size(); ++i)
        value |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
    return static_cast<int64_t>(value);
}

std::string TcpConnection::read_bytes(const Deadline& deadline) {
    constexpr size_t piece = size_t{4} << 20;  // a length alone must not cost memory
    const auto length = static_cast<uint64_t>(read_number(deadline));
    if (length > store_limits::request_bytes)
        throw Error(TUTTI_ERR_STORE, cat("the server announced a value of ", length, " bytes"));
    std::string value;
    while (value.size() < length) {
        const size_t done = value.size();
        value.resize(std::min<size_t>(length, done + piece));
        socket_.recv_all(std::as_writable_bytes(std::span(value)).subspan(done), deadline);
    }
    return value;
}

bool TcpConnection::wait(Store::Keys keys, const std::string& then, size_t values,
                         const Deadline& deadline) {
    send(Writer(Query::Wait).wire_keys(keys).take() + then, deadline);
    try {
        if (read_byte(deadline) != protocol::wait_over)
            throw Error(TUTTI_ERR_STORE, "the server broke off a wait that nobody called off");
        return true;
    } catch (const Error& error) {
        if (error.status().code != TUTTI_ERR_TIMEOUT) throw;
    }
    call_off(values);
    return false;
}

void TcpConnection::call_off(size_t values) {
    // One byte: the kernel takes it now or the connection is stuck, and then settle() says so.
    send(Writer(Query::CancelWait).take(), Deadline::after_ms(0));
    called_off_ = values;
}

void TcpConnection::settle(const Deadline& deadline) {
    if (!called_off_) return;
    // The wait may have ended on the way, answers and all, before the server read of calling off.
    uint8_t answer = read_byte(deadline);
    if (answer == protocol::wait_over) {
        for (size_t i = 0; i < *called_off_; ++i) (void)read_bytes(deadline);
        answer = read_byte(deadline);
    }
    if (answer != protocol::wait_cancelled)
        throw Error(TUTTI_ERR_STORE, "the server did not confirm the end of a wait");
    called_off_.reset();
}

}  // namespace tutti
