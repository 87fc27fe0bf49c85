#include "roll_call.hpp"

#include <cerrno>
#include <utility>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/thread.hpp"
#include "net/socket.hpp"

namespace tutti::membership {

namespace {

constexpr int64_t reply_ms = 200;  // for one rank: a host that is there refuses at once

}  // namespace

void RollCall::start(std::vector<Awaited> awaited, Refused refused) {
    if (is_asking_) return;
    join();
    try {
        const Lock lock(mutex_);
        thread_ = start_thread("tutti-rejoin",
                               [this, awaited = std::move(awaited), refused = std::move(refused)] {
                                   ask(awaited, refused);
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

void RollCall::ask(const std::vector<Awaited>& awaited, const Refused& refused) noexcept {
    for (const Awaited& one : awaited) {
        try {
            (void)net::Socket::connect_once(one.addresses, Deadline::after_ms(reply_ms));
        } catch (...) {
            const Status why = current_status();
            if (why.system_errno != ECONNREFUSED) continue;
            loop_.post([refused, rank = one.rank, why] { refused(rank, why); });
        }
    }
}

}  // namespace tutti::membership
