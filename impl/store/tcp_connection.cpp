// Reading and writing the client's side of the store protocol. One thread at a time.
#include "tcp_connection.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/error.hpp"
#include "base/random.hpp"
#include "keys.hpp"
#include "progress/pauses.hpp"

namespace tutti {

using protocol::Query;
using protocol::Writer;

namespace {

constexpr size_t read_at_once = 4096;
// A length alone must not cost memory.
constexpr size_t max_at_once = size_t{4} << 20;

std::string random_name() {
    constexpr const char* digits = "0123456789abcdef";
    std::string name;
    for (const uint8_t byte : random_value<std::array<uint8_t, 16>>()) {
        name += digits[byte >> 4];
        name += digits[byte & 15];
    }
    return name;
}

}  // namespace

TcpConnection::TcpConnection(net::Socket socket, const WaitLimit& limit)
    : socket_(std::move(socket)),
      remote_(net::remote_address_of(socket_.descriptor())),
      name_(random_name()) {
    buffer_.resize(read_at_once);
    send(Writer(Query::Validate)
             .number32(protocol::validation_magic)
             .query(Query::Check)
             .count(2)
             .bytes(protocol::tutti_key)
             .bytes(cat(protocol::hello_key, name_))
             .take(),
         limit);
    await_first_byte(limit);
    const uint8_t answer = read_byte(limit);
    if (answer == protocol::check_full)
        throw Error(TUTTI_ERR_STORE,
                    "the server is full: it has as many connections as its limit, or as its "
                    "process may have open files (ulimit -n)");
    if (answer != protocol::check_ready && answer != protocol::check_not_ready)
        throw Error(TUTTI_ERR_STORE, "what listens there is no store server");
    server_is_tutti_ = answer == protocol::check_ready;
    if (server_is_tutti_) read_limits(limit);
}

void TcpConnection::read_limits(const WaitLimit& limit) {
    const auto read = [&](size_t most) {
        const auto told = static_cast<uint64_t>(read_number(limit));
        return static_cast<size_t>(std::min<uint64_t>(told, most));
    };
    limits_ = StoreLimits();
    limits_.key_bytes = read(store_limits::max_key_bytes);
    limits_.value_bytes = read(store_limits::max_value_bytes);
    limits_.keys_per_request = read(store_limits::max_keys_per_request);
}

void TcpConnection::send(const std::string& message, const WaitLimit& limit) {
    is_inside_request_ = true;
    socket_.send_all(std::as_bytes(std::span(message)), limit.deadline(), limit.descriptor());
    is_inside_request_ = false;
}

bool TcpConnection::abandon() {
    is_abandoned_ = !is_inside_request_;
    return is_abandoned_;
}

void TcpConnection::note_unconfirmed(const char* operation, const std::string& key) {
    unconfirmed_.add({1, operation, key});
}

void Unconfirmed::add(const Unconfirmed& later) {
    if (later.count == 0) return;
    count += later.count;
    operation = later.operation;
    key = later.key;
}

std::string Unconfirmed::text() const {
    if (count == 0) return "";
    const std::string last = cat(operation, " of ", key_text(key), " may be lost");
    return count == 1 ? last : cat(last, ", and ", count - 1, " more before it");
}

// Every server of PyTorch 2 knows CHECK; the key is one that is no caller's.
bool TcpConnection::confirm(const WaitLimit& limit) {
    if (unconfirmed_.count == 0) return true;
    if (!is_abandoned_) {
        send(Writer(Query::Check).count(1).bytes(protocol::joined_key).take(), limit);
        ++confirmations_due_;
    }
    try {
        await_confirmations(limit);
        if (is_abandoned_) receive(1, limit);
    } catch (const Error& error) {
        const tutti_status code = error.status().code;
        if (code == TUTTI_ERR_TIMEOUT || code == TUTTI_ERR_ABORTED) return false;
        throw;
    }
    unconfirmed_ = {};
    return true;
}

// Each is one byte, so that reading may be taken up again where it was broken off.
void TcpConnection::await_confirmations(const WaitLimit& limit) {
    for (; confirmations_due_ > 0; --confirmations_due_) {
        await_first_byte(limit);
        receive(1, limit);
        const auto answer = static_cast<uint8_t>(received_.front());
        if (answer != protocol::check_ready && answer != protocol::check_not_ready)
            throw Error(TUTTI_ERR_STORE, "the server sent an unsolicited reply");
        received_.remove_prefix(1);
    }
}

bool TcpConnection::broken_lately() {
    const auto now = Deadline::Clock::now();
    if (received_.empty() && now - sound_at_ < store_limits::sound_for) return false;
    if (broken()) return true;
    sound_at_ = now;
    return false;
}

namespace {

// Waits for what is under way: once interrupted, a little longer, so that it is not lost.
// wait(deadline, descriptor) is a call of net::Socket.
template <typename Wait>
auto wait_with_last_word(const WaitLimit& limit, Wait&& wait) {
    try {
        return wait(limit.deadline(), limit.descriptor());
    } catch (const Error& error) {
        if (error.status().code != TUTTI_ERR_ABORTED) throw;
    }
    const Deadline last_word = Deadline::after_ms(store_limits::last_word_ms);
    try {
        return wait(limit.deadline().or_earlier(last_word), -1);
    } catch (const Error& error) {
        if (error.status().code != TUTTI_ERR_TIMEOUT) throw;
    }
    throw Error(TUTTI_ERR_ABORTED, "interrupted");
}

}  // namespace

// Where nothing is lost if the answer does not begin in time, and an interruption ends it at once.
void TcpConnection::await_first_byte(const WaitLimit& limit) {
    if (received_.empty()) socket_.await_readable(limit.deadline(), limit.descriptor());
}

// Makes received_ at least so long, which fits into the buffer. The answer to what was sent just
// now is on its way, so reading begins with waiting.
void TcpConnection::receive(size_t size, const WaitLimit& limit) {
    if (received_.size() >= size) return;
    std::copy(received_.begin(), received_.end(), buffer_.begin());
    received_ = {buffer_.data(), received_.size()};
    while (received_.size() < size) {
        const auto room = std::as_writable_bytes(std::span(buffer_)).subspan(received_.size());
        wait_with_last_word(limit, [&](const Deadline& deadline, int descriptor) {
            socket_.await_readable(deadline, descriptor);
        });
        const size_t count = socket_.recv_some(room, limit.deadline());
        if (count == 0) socket_.fail_closed();
        received_ = {buffer_.data(), received_.size() + count};
    }
}

void TcpConnection::receive_into(std::span<std::byte> bytes, const WaitLimit& limit) {
    while (!bytes.empty()) {
        const size_t count =
            wait_with_last_word(limit, [&](const Deadline& deadline, int descriptor) {
                return socket_.recv_some(bytes, deadline, descriptor);
            });
        if (count == 0) socket_.fail_closed();
        bytes = bytes.subspan(count);
    }
}

// The next bytes of an answer; valid until the next call.
std::string_view TcpConnection::take(size_t size, const WaitLimit& limit) {
    if (confirmations_due_ > 0) await_confirmations(limit);
    receive(size, limit);
    if (unconfirmed_.count > 0) unconfirmed_ = {};
    const std::string_view taken = received_.substr(0, size);
    received_.remove_prefix(size);
    return taken;
}

uint8_t TcpConnection::read_byte(const WaitLimit& limit) {
    return static_cast<uint8_t>(take(1, limit).front());
}

uint32_t TcpConnection::read_number32(const WaitLimit& limit) {
    uint32_t value = 0;
    const std::string_view bytes = take(4, limit);
    for (size_t i = 0; i < bytes.size(); ++i)
        value |= uint32_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
    return value;
}

int64_t TcpConnection::read_number(const WaitLimit& limit) {
    uint64_t value = 0;
    const std::string_view bytes = take(8, limit);
    for (size_t i = 0; i < bytes.size(); ++i)
        value |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
    return static_cast<int64_t>(value);
}

std::string TcpConnection::read_bytes(const WaitLimit& limit) {
    const auto length = static_cast<uint64_t>(read_number(limit));
    if (length > store_limits::max_value_bytes)
        throw Error(TUTTI_ERR_STORE, cat("the server announced a value of ", length, " bytes"));
    std::string value(received_.substr(0, length));
    received_.remove_prefix(value.size());
    while (value.size() < length) {
        const size_t done = value.size();
        value.resize(std::min<size_t>(length, done + max_at_once));
        receive_into(std::as_writable_bytes(std::span(value)).subspan(done), limit);
    }
    return value;
}

std::optional<std::string> TcpConnection::read_popped(const WaitLimit& limit) {
    const auto with_last_word = [&] {
        const Deadline last_word = Deadline::after_ms(store_limits::last_word_ms);
        return limit.with(limit.deadline().or_later(last_word));
    };
    if (read_number(with_last_word()) <= 0) return std::nullopt;
    return read_bytes(with_last_word());
}

bool TcpConnection::wait(const std::string& request, size_t values, const WaitLimit& limit) {
    send(request, limit);
    try {
        await_first_byte(limit);
        if (read_byte(limit) != protocol::wait_over)
            throw Error(TUTTI_ERR_STORE,
                        "the server cancelled a wait that this client had not cancelled");
        return true;
    } catch (const Error& error) {
        const tutti_status code = error.status().code;
        if (code != TUTTI_ERR_TIMEOUT && code != TUTTI_ERR_ABORTED) throw;
    }
    call_off(values);
    return false;
}

void TcpConnection::call_off(size_t values) {
    // One byte: the kernel takes it now or the connection is stuck, and then settle() says so.
    send(Writer(Query::CancelWait).take(), Deadline::after_ms(0));
    called_off_ = values;
}

void TcpConnection::settle(const WaitLimit& limit) {
    if (!called_off_) return;
    // The wait may have ended on the way, answers and all, before the server read of calling off.
    uint8_t answer = read_byte(limit);
    if (answer == protocol::wait_over) {
        for (size_t i = 0; i < *called_off_; ++i) (void)read_bytes(limit);
        answer = read_byte(limit);
    }
    if (answer != protocol::wait_cancelled)
        throw Error(TUTTI_ERR_STORE, "the server did not confirm the end of a wait");
    called_off_.reset();
}

std::optional<std::string> TcpConnection::wait_and_pop(const std::string& key,
                                                       const WaitLimit& limit, bool& in_time) {
    const std::string request = Writer(Query::Wait)
                                    .wire_keys(Store::Keys(&key, 1))
                                    .query(Query::QueuePop)
                                    .wire_key(key)
                                    .take();
    in_time = wait(request, 0, limit);
    if (in_time) return read_popped(limit);
    // A value that was popped for this client in the last moment is this client's, so its answer is
    // waited for.
    const Deadline last_word = Deadline::after_ms(store_limits::last_word_ms);
    std::optional<std::string> value;
    uint8_t answer = read_byte(last_word);
    if (answer == protocol::wait_over) {
        value = read_popped(last_word);
        answer = read_byte(last_word);
    }
    if (answer != protocol::wait_cancelled)
        throw Error(TUTTI_ERR_STORE, "the server did not confirm the end of a wait");
    called_off_.reset();
    return value;
}

namespace {

std::unique_ptr<TcpConnection> connect_with_patience(const net::Endpoint& endpoint,
                                                     const WaitLimit& limit) {
    Pauses pauses = Pauses::between_calls();
    for (int attempt = 1;; ++attempt) {
        const auto pause = pauses.next();
        net::Socket socket = net::Socket::connect(endpoint, limit.deadline(), limit.descriptor());
        try {
            return std::make_unique<TcpConnection>(std::move(socket), limit);
        } catch (const Error& error) {
            if (error.status().code != TUTTI_ERR_NETWORK) throw;
            if (Deadline::Clock::now() + pause >= limit.deadline().when())
                throw Error(TUTTI_ERR_NETWORK,
                            cat("somebody listens and hangs up, ", attempt, " times (",
                                error.status().message, ")"),
                            -1, error.status().system_errno);
        }
        limit.sleep(pause);
    }
}

}  // namespace

std::unique_ptr<TcpConnection> connect_to_store(const std::string& host,
                                                const net::Endpoint& endpoint,
                                                const WaitLimit& limit) {
    try {
        return connect_with_patience(endpoint, limit);
    } catch (const Error& error) {
        Status status = error.status();
        status.message =
            cat("TCP store ", net::endpoint_text(host, endpoint.port), ": ", status.message);
        throw Error(std::move(status));
    }
}

}  // namespace tutti
