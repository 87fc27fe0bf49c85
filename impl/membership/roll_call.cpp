#include "roll_call.hpp"

#include <cerrno>
#include <optional>
#include <span>
#include <utility>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/thread.hpp"
#include "net/socket.hpp"
#include "protocol.hpp"

namespace tutti::membership {

namespace {

constexpr int64_t reply_ms = 200;  // for one rank: a host that is there refuses at once

// The other coordinator's answer; OK: nobody answers, or this rank is not ruled out.
Status ask_coordinator(net::Socket& socket, const std::string& inquiry, const Deadline& deadline) {
    socket.send_all(std::as_bytes(std::span(inquiry)), deadline);
    FrameReader frames;
    std::optional<Status> answer;
    std::byte bytes[512];
    while (!answer) {
        const size_t count = socket.recv_some(bytes, deadline);
        if (count == 0) return {};
        frames.feed(std::span(bytes, count), [&](const Frame& frame) {
            if (frame.kind == Kind::RuledOut) answer = decode_status(frame);
            return true;
        });
    }
    return *answer;
}

}  // namespace

void RollCall::start(std::vector<Awaited> awaited, const std::string& inquiry, Answers answers) {
    if (is_asking_) return;
    join();
    try {
        const Lock lock(mutex_);
        thread_ = start_thread("tutti-rejoin", [this, inquiry, awaited = std::move(awaited),
                                                answers = std::move(answers)] {
            ask(awaited, inquiry, answers);
            loop_.post([this] { is_asking_ = false; });
        });
        is_asking_ = true;
    } catch (...) {  // they are given up when their grace has passed
        log(LogLevel::Warning, "control: ", current_status().message);
    }
}

void RollCall::join() {
    std::thread before;
    {
        const Lock lock(mutex_);
        before = std::move(thread_);
    }
    if (before.joinable()) before.join();
}

void RollCall::ask(const std::vector<Awaited>& awaited, const std::string& inquiry,
                   const Answers& answers) noexcept {
    for (const Awaited& one : awaited) {
        net::Socket socket;
        try {
            const Deadline deadline = Deadline::after_ms(reply_ms);
            socket = net::Socket::connect_once(one.addresses, deadline);
            const Status why = ask_coordinator(socket, inquiry, deadline);
            if (!why.ok()) loop_.post([act = answers.is_ruled_out, why] { act(why); });
        } catch (...) {
            const Status why = current_status();
            if (socket.valid() || why.system_errno != ECONNREFUSED) continue;
            loop_.post([act = answers.is_gone, rank = one.rank, why] { act(rank, why); });
        }
    }
}

}  // namespace tutti::membership
