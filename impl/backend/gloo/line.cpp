#include "line.hpp"

#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include <gloo/common/error.h>
#include <gloo/transport/tcp/socket.h>

#include "base/error.hpp"

namespace tutti::gloo_channel {

// Stands in for a message that was withdrawn before it left: the receiver gets nothing, but in its
// turn.
class Line::Blank : public ::gloo::transport::tcp::UnboundBuffer {
public:
    // Gloo's buffers own their context, which owns this: hence a pointer that owns nothing.
    explicit Blank(::gloo::transport::tcp::Context* context)
        : UnboundBuffer({std::shared_ptr<void>{}, context}, nullptr, 0) {}
    [[nodiscard]] Weak weak() const { return getWeakNonOwningPtr(); }
};

Line::Line(::gloo::transport::tcp::Context* context, ::gloo::transport::tcp::Device* device,
           int peer, LineOwner& owner)
    : Pair(context, device, peer, std::chrono::milliseconds(0)),
      owner_(owner),
      blank_(std::make_unique<Blank>(context)) {}

Line::~Line() {
    // Before the members go that the loop's thread uses.
    const std::lock_guard<std::mutex> lock(m_);
    if (state_ != CLOSED) Line::changeState(CLOSED);
}

void Line::adopt(int descriptor) {
    connectCallback(std::make_shared<::gloo::transport::tcp::Socket>(descriptor),
                    ::gloo::transport::tcp::Error::kSuccess);
}

bool Line::closed() {
    const std::lock_guard<std::mutex> lock(m_);
    return state_ == CLOSED;
}

Parcel& Line::parcel(const Held& held) {
    return static_cast<Parcel&>(*held.operator->());
}

void Line::handle(int events) noexcept {
    {
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
    flush_completions();
}

// Closes this line.
void Line::refuse(const std::string& reason) {
    if (state_ == CLOSED || ex_ != nullptr) return;
    reason_ = reason;
    signalException(reason);
}

void Line::changeState(state next) noexcept {
    const bool breaks = next == CLOSED && state_ == CONNECTED;
    Pair::changeState(next);
    if (breaks) owner_.line_closed(rank_, reason_);
}

bool Line::read() {
    for (;;) {
        if (state_ == CLOSED) return false;
        if (!skipping_ && !examined_) {
            if (const Progress progress = read_preamble(); progress != Progress::Done) return false;
            if (!examine()) return false;
        }
        if (!skipping_) break;
        if (const Progress progress = skip(); progress != Progress::Done) return false;
    }
    if (rx_.getOpcode() != Op::SEND_UNBOUND_BUFFER) {
        examined_ = false;
        return Pair::read();
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
        parcel(held).complete({}, rank_, bytes);
    }
    parcel(held).let_go();
    return whole;
}

// Reads what has come of the message that comes in, at most `bytes` of it.
Line::Progress Line::receive_some(char* memory, size_t bytes) {
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

Line::Progress Line::read_preamble() {
    auto* const preamble = reinterpret_cast<char*>(&rx_.preamble);
    constexpr size_t whole = sizeof rx_.preamble;
    while (rx_.nread < whole) {
        const Progress progress = receive_some(preamble + rx_.nread, whole - rx_.nread);
        if (progress != Progress::Done) return progress;
    }
    return Progress::Done;
}

// Whether Gloo may have the message whose preamble has come.
bool Line::examine() {
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
    return is_notice || examine_data();
}

bool Line::examine_data() {
    const auto found = localPendingRecv_.find(rx_.preamble.slot);
    if (found == localPendingRecv_.end() || found->second.empty()) {
        refuse("data came that nobody had asked for");
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
        parcel(held).complete({TUTTI_ERR_MISMATCH, rank_, 0,
                               cat("rank ", rank_, " sent ", rx_.preamble.length, " bytes where ",
                                   room, " were expected")},
                              rank_, rx_.preamble.length);
        parcel(held).let_go();
    }
    queue.pop_front();
    if (queue.empty()) localPendingRecv_.erase(found);
    skipping_ = true;
    return true;
}

// Reads the rest of a message that nobody wants.
Line::Progress Line::skip() {
    const size_t whole = sizeof rx_.preamble + rx_.preamble.length;
    std::array<char, 16384> nowhere;
    while (rx_.nread < whole) {
        const Progress progress =
            receive_some(nowhere.data(), std::min(nowhere.size(), whole - rx_.nread));
        if (progress != Progress::Done) return progress;
    }
    rx_ = Op();
    skipping_ = false;
    examined_ = false;
    target_ = Weak();
    return Progress::Done;
}

bool Line::write(Op& op) {
    if (op.getOpcode() != Op::SEND_UNBOUND_BUFFER) return Pair::write(op);
    Held held(op.ubuf);
    const bool is_blank = held && held.operator->() == blank_.get();
    const bool was_stopped = held && !is_blank && op.nwritten == 0 && !parcel(held).begin();
    if (was_stopped) parcel(held).let_go();
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
    if (is_blank) return whole;
    if (whole) parcel(held).complete({}, rank_, op.nbytes);
    parcel(held).let_go();
    return whole;
}

}  // namespace tutti::gloo_channel
