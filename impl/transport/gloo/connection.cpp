#include "connection.hpp"

#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <gloo/common/error.h>
#include <gloo/transport/tcp/socket.h>

#include "base/error.hpp"
#include "base/log.hpp"

namespace tutti::gloo_channel {

namespace {

constexpr size_t max_word = 64 * 1024;

}  // namespace

// Stands in for a message that was withdrawn before it left: the receiver gets nothing, but in its
// turn.
class Connection::Blank : public ::gloo::transport::tcp::UnboundBuffer {
public:
    // Gloo's buffers own their context, which owns this: hence a pointer that owns nothing.
    explicit Blank(::gloo::transport::tcp::Context* context)
        : UnboundBuffer({std::shared_ptr<void>{}, context}, nullptr, 0) {}
    [[nodiscard]] Weak weak() const { return getWeakNonOwningPtr(); }
};

namespace {
struct Bytes {
    std::string bytes;
};
}  // namespace

// Memory of the connection: a control message, or the rest of a message whose owner is gone.
class Connection::Copy : private Bytes, public ::gloo::transport::tcp::UnboundBuffer {
public:
    Copy(::gloo::transport::tcp::Context* context, std::string content)
        : Bytes{std::move(content)},
          UnboundBuffer({std::shared_ptr<void>{}, context}, Bytes::bytes.data(),
                        Bytes::bytes.size()) {}
    [[nodiscard]] Weak weak() const { return getWeakNonOwningPtr(); }
};

Connection::Connection(::gloo::transport::tcp::Context* context,
                       ::gloo::transport::tcp::Device* device, int peer, ConnectionOwner& owner,
                       Notices& notices)
    : Pair(context, device, peer, std::chrono::milliseconds(0)),
      owner_(owner),
      notices_(notices),
      blank_(std::make_unique<Blank>(context)) {}

Connection::~Connection() {
    // Before the members go that the loop's thread uses.
    const std::lock_guard<std::mutex> lock(m_);
    if (state_ != CLOSED) Connection::changeState(CLOSED);
}

void Connection::adopt(Completions& /*open*/, int descriptor) {
    connectCallback(std::make_shared<::gloo::transport::tcp::Socket>(descriptor),
                    ::gloo::transport::tcp::Error::kSuccess);
}

bool Connection::closed() {
    const std::lock_guard<std::mutex> lock(m_);
    return state_ == CLOSED;
}

Request& Connection::request(const Held& held) {
    return static_cast<Request&>(*held.operator->());
}

void Connection::handle(int events) noexcept {
    const Completions completions;
    const std::unique_lock<std::mutex> lock(m_, std::try_to_lock);
    if (!lock) {
        // Waiting for the lock could wait for ever: who holds it may wait for this loop's next
        // turn. Gloo would come back at once, and take the processor from the very thread it
        // waits for.
        const timespec moment{0, 20'000};
        nanosleep(&moment, nullptr);
        return;
    }
    if (state_ != CONNECTED) return;
    try {
        handleReadWrite(events);
    } catch (const std::exception& fault) {
        refuse(fault.what());
    }
}

// Closes this connection.
void Connection::refuse(const std::string& reason) {
    if (state_ == CLOSED || ex_ != nullptr) return;
    reason_ = reason;
    signalException(reason);
}

void Connection::changeState(state next) noexcept {
    const bool breaks = next == CLOSED && state_ == CONNECTED;
    Pair::changeState(next);
    if (breaks) notices_.drop_of(rank_);
    if (breaks) owner_.connection_closed(Completions::open(), rank_, reason_);
}

bool Connection::read() {
    for (;;) {
        if (state_ == CLOSED) return false;
        if (!skipping_ && !examined_) {
            if (const Progress progress = read_preamble(); progress != Progress::Done) return false;
            if (!examine()) return false;
        }
        if (skipping_) {
            if (skip() != Progress::Done) return false;
        } else if (WireSlot(rx_.preamble.slot).is_control()) {
            if (read_control() != Progress::Done) return false;
        } else {
            break;
        }
    }
    if (const auto opcode = rx_.getOpcode(); opcode != Op::SEND_UNBOUND_BUFFER) {
        const uint64_t slot = rx_.preamble.slot;
        end_message();
        take_notice(opcode, slot);
        return true;
    }
    const Held held(target_);
    if (!held) {  // withdrawn while it came in
        skipping_ = true;
        return read();
    }
    const size_t bytes = rx_.preamble.length;
    const bool whole = Pair::read();
    if (whole) {
        examined_ = false;
        target_ = Weak();
        request(held).pass(Completions::open(), rank_, bytes);
    }
    request(held).let_go();
    return whole;
}

// Reads what has come of the message that comes in, at most `bytes` of it.
Connection::Progress Connection::receive_some(char* memory, size_t bytes) {
    for (;;) {
        const ssize_t got = ::recv(fd_, memory, bytes, MSG_DONTWAIT);
        if (got > 0) {
            rx_.nread += static_cast<size_t>(got);
            return Progress::Done;
        }
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return Progress::Wait;
        refuse(got == 0 ? std::string("the connection was closed") : errno_text(errno));
        return Progress::Broken;
    }
}

// Reads on until `until` bytes of the message are there; `place` is where byte `from` goes.
Connection::Progress Connection::read_into(char* place, size_t from, size_t until) {
    while (rx_.nread < until) {
        const Progress progress = receive_some(place + (rx_.nread - from), until - rx_.nread);
        if (progress != Progress::Done) return progress;
    }
    return Progress::Done;
}

Connection::Progress Connection::read_preamble() {
    return read_into(reinterpret_cast<char*>(&rx_.preamble), 0, sizeof rx_.preamble);
}

// Whether Gloo may have the message whose preamble has come.
bool Connection::examine() {
    const auto& preamble = rx_.preamble;
    const bool is_data = preamble.opcode == Op::SEND_UNBOUND_BUFFER;
    const bool is_notice =
        preamble.opcode == Op::NOTIFY_SEND_READY || preamble.opcode == Op::NOTIFY_RECV_READY;
    if (!(is_data && preamble.nbytes - sizeof preamble == preamble.length) &&
        !(is_notice && preamble.nbytes == sizeof preamble)) {
        refuse("a message was malformed");
        return false;
    }
    examined_ = true;
    return is_notice ? examine_notice() : examine_data();
}

// A notice of a group that has ended is dropped: nobody would ever take it back.
bool Connection::examine_notice() {
    const WireSlot slot(rx_.preamble.slot);
    if (slot.is_control()) {
        refuse("a message was malformed");
        return false;
    }
    skipping_ = !owner_.awaits(slot);
    return true;
}

bool Connection::examine_data() {
    if (const WireSlot slot(rx_.preamble.slot); slot.is_control()) {
        if (rx_.preamble.length <= max_word) {
            control_.resize(rx_.preamble.length);
            return true;
        }
        refuse("a message was malformed");
        return false;
    } else if (!owner_.awaits(slot)) {
        skipping_ = true;
        return true;
    }
    const auto found = localPendingRecv_.find(rx_.preamble.slot);
    if (found == localPendingRecv_.end() || found->second.empty()) {
        refuse("unexpected data");
        return false;
    }
    auto& queue = found->second;
    const auto& [weak, offset, room] = queue.front();
    const Held held(weak);
    if (held && rx_.preamble.length <= room) {
        target_ = weak;
        return true;
    }
    if (held) {
        request(held).overflow(Completions::open(), rank_, rx_.preamble.length, room);
        request(held).let_go();
    }
    queue.pop_front();
    if (queue.empty()) localPendingRecv_.erase(found);
    skipping_ = true;
    return true;
}

// Reads the rest of a message that nobody wants.
Connection::Progress Connection::skip() {
    const size_t whole = rx_.preamble.nbytes;
    std::array<char, 16384> nowhere;
    while (rx_.nread < whole) {
        const Progress progress =
            receive_some(nowhere.data(), std::min(nowhere.size(), whole - rx_.nread));
        if (progress != Progress::Done) return progress;
    }
    end_message();
    return Progress::Done;
}

Connection::Progress Connection::read_control() {
    const Progress progress = read_into(control_.data(), sizeof rx_.preamble, rx_.preamble.nbytes);
    if (progress != Progress::Done) return progress;
    const WireSlot slot(rx_.preamble.slot);
    end_message();
    try {
        owner_.control_received(Completions::open(), rank_, slot,
                                std::as_bytes(std::span(control_)));
    } catch (const std::exception& fault) {
        refuse(fault.what());
        return Progress::Broken;
    }
    return Progress::Done;
}

void Connection::end_message() {
    rx_ = Op();
    skipping_ = false;
    examined_ = false;
    target_ = Weak();
}

bool Connection::write(Op& op) {
    if (op.getOpcode() != Op::SEND_UNBOUND_BUFFER) return Pair::write(op);
    Held held(op.ubuf);
    const bool was_stopped = held && !is_own(held) && op.nwritten == 0 && !request(held).begin();
    if (was_stopped) request(held).let_go();
    if (!held || was_stopped) {
        if (op.nwritten > 0) {
            refuse("a message was withdrawn when half of it had gone");
            return false;
        }
        op.preamble.length = 0;
        op.preamble.nbytes = sizeof op.preamble;
        op.nbytes = 0;
        op.ubuf = blank_->weak();
        return Pair::write(op);
    }
    const bool whole = Pair::write(op);
    if (is_own(held)) {
        const auto* const buffer = held.operator->();
        held = Held();
        if (whole) drop_copy(buffer);
        return whole;
    }
    if (whole) request(held).pass(Completions::open(), rank_, op.nbytes);
    request(held).let_go();
    return whole;
}

// Whether it is no request, but memory of this connection.
bool Connection::is_own(const Held& held) const {
    const auto* const buffer = held.operator->();
    return buffer == blank_.get() ||
           std::ranges::any_of(copies_, [&](const auto& copy) { return copy.get() == buffer; });
}

void Connection::drop_copy(const ::gloo::transport::tcp::UnboundBuffer* copy) {
    std::erase_if(copies_, [&](const auto& one) { return one.get() == copy; });
}

void Connection::send_message(Completions& /*open*/, Request& request, WireSlot slot) {
    post_send(request.weak(), slot.value(), request.size);
}

void Connection::send_control(Completions& /*open*/, WireSlot slot, std::string control) noexcept {
    try {
        const std::lock_guard<std::mutex> lock(m_);
        if (state_ != CONNECTED) return;
        const size_t bytes = control.size();
        const auto& copy =
            copies_.emplace_back(std::make_unique<Copy>(context_, std::move(control)));
        sendUnboundBuffer(copy->weak(), slot.value(), 0, bytes);
    } catch (const std::exception& fault) {  // the connection has closed, or there is no memory
        log(LogLevel::Debug, "gloo: a word is lost: ", fault.what());
    }
}

void Connection::keep_rest_of(Request& request) noexcept {
    const std::lock_guard<std::mutex> lock(m_);
    if (state_ == CLOSED || tx_.empty() || tx_.front().nwritten == 0) return;
    Op& op = tx_.front();
    if (op.getOpcode() != Op::SEND_UNBOUND_BUFFER) return;
    {
        const Held held(op.ubuf);
        if (!held || held.operator->() != &request) return;
    }
    try {
        const char* const data = static_cast<const char*>(request.ptr) + op.offset;
        const auto& copy =
            copies_.emplace_back(std::make_unique<Copy>(context_, std::string(data, op.nbytes)));
        op.offset = 0;
        op.ubuf = copy->weak();
    } catch (const std::exception&) {  // no memory: the connection closes at the next write
    }
}

void Connection::send_nothing(Completions& /*open*/, WireSlot slot) {
    post_send(blank_->weak(), slot.value(), 0);
}

void Connection::forget(uint32_t group_id) noexcept {
    const std::lock_guard<std::mutex> lock(m_);
    const auto is_of_group = [=](const auto& entry) {
        return WireSlot(entry.first).group() == group_id;
    };
    std::erase_if(localPendingRecv_, is_of_group);
    std::erase_if(localPendingSend_, is_of_group);
    expected_.forget(group_id);
    awaited_.forget(group_id);
}

}  // namespace tutti::gloo_channel
