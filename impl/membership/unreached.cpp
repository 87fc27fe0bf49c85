#include "unreached.hpp"

#include "base/error.hpp"
#include "base/log.hpp"
#include "net/socket.hpp"

namespace tutti::membership {

namespace {

// A rank does not reach rank 0, or has given up; rank 0 is there; why that rank has given up.
const std::string unreached_key = "tutti/unreached";
const std::string presence_key = "tutti/present";
const std::string given_up_key = "tutti/given_up";
constexpr int64_t tell_ms = 1000;
// Before a rank asks whether rank 0 is there: where the network refuses its calls, or is silent.
constexpr auto refused_patience = std::chrono::seconds(2);
constexpr auto silent_patience = std::chrono::seconds(30);
// An attempt takes two seconds at most.
constexpr int64_t others_ms = 3000;

std::optional<std::string> read_if_there(Store& store, const std::string& key,
                                         const Deadline& deadline) {
    if (!store.check(Store::Keys(&key, 1), deadline)) return std::nullopt;
    return store.get(key, deadline);
}

}  // namespace

// Hosts limit how often they refuse, so silence behind a refusal is one, too.
void CallsInVain::failed(const Invitation& invitation, const Status& why,
                         const Deadline& deadline) {
    if (why.system_errno == 0) return;  // somebody answers: a stopped one does, by its system
    const std::string token = hex(invitation.token);
    const auto now = Deadline::Clock::now();
    if (token != token_) {
        token_ = token;
        since_ = now;
        is_refused_ = has_asked_ = false;
    }
    is_refused_ = is_refused_ || net::is_refusal(why.system_errno);
    if (now - since_ < (is_refused_ ? refused_patience : silent_patience)) return;
    if (!has_asked_) {
        caller_.store.set(unreached_key, token, deadline);
        has_asked_ = true;
    } else if (read_if_there(caller_.store, presence_key, deadline) == token) {
        Status failure = why;
        failure.message += is_refused_ ? "; rank 0 is there, so the network refuses it"
                                       : "; rank 0 is there, so the network swallows it";
        tell_rank_0(caller_, invitation, failure);
        throw Error(std::move(failure));
    }
}

CallersInVain::CallersInVain(Store& store, const Invitation& mine, int size)
    : store_(store), token_(hex(mine.token)), size_(size) {}

void CallersInVain::answer(const Deadline& deadline) {
    if (read_if_there(store_, unreached_key, deadline) != token_) return;
    if (!has_answered_) store_.set(presence_key, token_, deadline);
    has_answered_ = true;
    std::istringstream text(read_if_there(store_, given_up_key, deadline).value_or(""));
    std::string about;
    text >> about;
    if (about != token_) return;
    if (!until_) until_ = Deadline::after_ms(others_ms);
    if (until_->expired()) throw Error(parse_failure(text, size_));
}

void tell_rank_0(const JoiningRank& caller, const Invitation& of, const Status& why) noexcept {
    try {
        const Deadline deadline = Deadline::after_ms(tell_ms);
        const std::string token = hex(of.token);
        caller.store.set(given_up_key, cat(token, " ", failure_text(caller.rank, why)), deadline);
        caller.store.set(unreached_key, token, deadline);
    } catch (...) {  // then rank 0 waits until its time is up
        log(LogLevel::Debug, "control: ", current_status().message);
    }
}

std::string failure_text(int rank, const Status& why) {
    return cat(static_cast<int>(why.code), " ", rank, " ", why.message);
}

Status parse_failure(std::istringstream& text, int size) {
    int code = 0;
    int rank = -1;
    std::string why;
    text >> code >> rank >> std::ws;
    std::getline(text, why, '\0');
    if (code <= TUTTI_OK || rank < 0 || rank >= size) {
        throw Error(TUTTI_ERR_ABORTED,
                    cat("the store tells of a failure that cannot be read: ", text.str()));
    }
    return {static_cast<tutti_status>(code), rank, 0, cat("rank ", rank, " gave up: ", why)};
}

}  // namespace tutti::membership
