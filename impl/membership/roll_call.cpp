#include "roll_call.hpp"

#include <cerrno>
#include <span>
#include <utility>

#include "answer.hpp"
#include "base/deadline.hpp"
#include "base/error.hpp"
#include "net/socket.hpp"
#include "protocol.hpp"

namespace tutti::membership {

bool RollCall::start(std::vector<Awaited> awaited, const std::string& inquiry, Answers answers) {
    if (is_asking_) return false;
    // Without a thread, they are given up when their grace has passed.
    is_asking_ =
        errand_.start([this, inquiry, awaited = std::move(awaited), answers = std::move(answers)] {
            ask(awaited, inquiry, answers);
            loop_.post([this, is_over = answers.is_over] {
                is_asking_ = false;
                is_over();
            });
        });
    return is_asking_;
}

void RollCall::ask(const std::vector<Awaited>& awaited, const std::string& inquiry,
                   const Answers& answers) noexcept {
    for (const Awaited& one : awaited) {
        net::Socket socket;
        try {
            const Deadline deadline = Deadline::after_ms(reply_ms_);
            socket = net::Socket::connect_once(one.addresses, deadline);
            socket.send_all(std::as_bytes(std::span(inquiry)), deadline);
            read_answer(socket, deadline, [&](const Frame& frame) {
                if (frame.kind != Kind::RuledOut) return;
                loop_.post([act = answers.is_ruled_out, why = decode_status(frame)] { act(why); });
            });
        } catch (...) {
            const Status why = current_status();
            if (socket.valid() || why.system_errno != ECONNREFUSED) continue;
            loop_.post([act = answers.is_gone, rank = one.rank, why] { act(rank, why); });
        }
    }
}

}  // namespace tutti::membership
