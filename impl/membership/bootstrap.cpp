#include "bootstrap.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <sstream>

#include "address.hpp"
#include "answer.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "missing_ranks.hpp"
#include "net/interfaces.hpp"
#include "progress/pauses.hpp"
#include "progress/sleep.hpp"
#include "store/job_end.hpp"
#include "unreached.hpp"

namespace tutti::membership {

namespace {

const std::string invitation_key = "tutti/control";
const std::string failure_key = "tutti/failed";
const std::string heard_key = "tutti/heard/";  // and the rank that has heard of it
constexpr int64_t attempt_ms = 2000;           // what all addresses of an invitation get together
constexpr int64_t withdrawal_ms = 1000;
constexpr int64_t look_ms = 1000;  // between two looks for ranks that have ended or failed
constexpr int64_t tell_ms = 1000;
constexpr int64_t stay_ms = 3000;  // for ranks that come a little later, or look
constexpr auto heard_pause = std::chrono::milliseconds(20);

std::vector<net::Address> addresses_to(const Invitation& invitation, const JoiningRank& caller) {
    const std::string route_to_store = caller.store.remote_address().value_or("");
    const auto own = net::addresses_of_this_host();
    View view{.same_host = invitation.host == caller.host,
              .route = route_to_store,
              .usual_route = route_to_store,
              .own = own};
    // Rank 0 and this rank both reach the store by a loopback address: it is theirs.
    if (is_loopback(route_to_store) && std::ranges::any_of(invitation.addresses, is_loopback)) {
        view.same_host = true;
    }
    return net::numeric_addresses(seen_from_here(invitation.addresses, view), invitation.port);
}

struct Answer {
    Kind kind{};
    std::string reason{};  // of Refused
    Status verdict{};
};

// Returns when welcome.
void handshake(net::Socket& socket, const Invitation& invitation, const JoiningRank& caller,
               const Deadline& deadline) {
    const std::string text = encode(Handshake{invitation.token, caller.rank, caller.size});
    socket.send_all(std::as_bytes(std::span(text)), deadline);
    Answer answer;
    read_answer(socket, deadline, [&answer](const Frame& frame) {
        answer.kind = frame.kind;
        if (frame.kind == Kind::Refused) answer.reason = decode_text(frame);
        if (frame.kind == Kind::Verdict) answer.verdict = decode_failure(frame).content.cause;
    });
    const auto& [kind, reason, verdict] = answer;
    if (kind == Kind::Welcome) return;
    if (kind == Kind::Verdict && !verdict.ok()) throw Error(verdict);
    if (kind == Kind::Refused) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat(name_of_coordinator(invitation.rank), " refused this process: ", reason),
                    caller.rank);
    }
    throw Error(TUTTI_ERR_NETWORK, cat("another process answers at ", socket.remote_address()));
}

// Throws INVALID_ARGUMENT if refused, OUT_OF_MEMORY if this process lacks descriptors, or the
// coordinator's does; NETWORK if nobody there is the coordinator.
net::Socket reach(const Invitation& invitation, const JoiningRank& caller,
                  const Deadline& deadline) {
    const Deadline limit = deadline.or_earlier(Deadline::after_ms(attempt_ms));
    auto addresses = addresses_to(invitation, caller);
    std::string reasons;
    int number = 0;
    while (!addresses.empty()) {
        net::Socket socket;
        try {
            socket = net::Socket::connect_once(addresses, limit);
            handshake(socket, invitation, caller, limit);
            return socket;
        } catch (const Error& error) {
            const tutti_status code = error.status().code;
            if (code == TUTTI_ERR_INVALID_ARGUMENT || code == TUTTI_ERR_OUT_OF_MEMORY) throw;
            reasons += cat(reasons.empty() ? "" : "; ", error.what());
            if (!socket.valid()) number = error.status().system_errno;
        }
        if (!socket.valid()) break;  // none of them connects
        const std::string wrong = socket.remote_address();
        std::erase_if(addresses, [&](const net::Address& one) { return one.host() == wrong; });
    }
    const std::string failure =
        cat("cannot reach ", name_of_coordinator(invitation.rank), ": ", reasons);
    log(LogLevel::Debug, "control: rank ", caller.rank, " ", failure);
    throw Error(TUTTI_ERR_NETWORK, failure, invitation.rank, number);
}

// Whether the rank 0 that left this invitation is still there.
bool still_answers(const Invitation& invitation, const JoiningRank& rank_0,
                   const Deadline& deadline) {
    try {
        (void)reach(invitation, rank_0, deadline);
        return true;
    } catch (const Error& error) {
        if (error.status().is_own_exhaustion) throw;
        return error.status().code == TUTTI_ERR_INVALID_ARGUMENT;
    }
}

// True for a group of all ranks of a job whose launcher serves the store: a rank that ends before
// is missing for good.
bool is_of_whole_job(int size) {
    return environment("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True" &&
           environment("WORLD_SIZE").value_or("") == std::to_string(size);
}

// What tell_failure() has left, if anything.
std::optional<Status> read_failure(const JoiningRank& caller, const Deadline& deadline) {
    if (!caller.store.check(Store::Keys(&failure_key, 1), deadline)) return std::nullopt;
    std::istringstream text(caller.store.get(failure_key, deadline));
    Status failure = parse_failure(text, caller.size);
    if (failure.rank != caller.rank) return failure;
    caller.store.delete_key(failure_key, deadline);  // of an attempt before
    return std::nullopt;
}

std::string read_invitation(const JoiningRank& caller, const Deadline& deadline) {
    std::string invitation;
    const auto wait = [&](const Deadline& slice) {
        try {
            invitation = caller.store.get(invitation_key, slice);
            return true;
        } catch (const Error& error) {
            if (error.status().code != TUTTI_ERR_TIMEOUT) throw;
            return false;
        }
    };
    if (!wait_for_ranks(caller, deadline, wait)) throw missing_ranks_error("0");
    return invitation;
}

// Ranks that this one's store has turned away do not come.
void check_server_of(const JoiningRank& caller) {
    Status lack = caller.store.lack_of_server();
    if (lack.ok()) return;
    lack.rank = caller.rank;
    lack.message = cat("the store of rank ", caller.rank, " turned others away: ", lack.message);
    throw Error(lack);
}

}  // namespace

void tell_failure(Store& store, int rank, const Status& why) noexcept {
    try {
        store.compare_set(failure_key, "", failure_text(rank, why), Deadline::after_ms(tell_ms));
    } catch (...) {  // then the others wait until their time is up
        log(LogLevel::Debug, "control: ", current_status().message);
    }
}

void stay_to_tell(Store& store, int rank, int size) noexcept {
    if (!store.is_served_here()) return;
    std::vector<std::string> others;
    for (int other = 0; other < size; ++other) {
        if (other != rank) others.push_back(cat(heard_key, other));
    }
    for (const auto until = Deadline::after_ms(stay_ms); !until.expired();) {
        try {
            if (store.check(others, until)) return;
        } catch (...) {  // nor does this process have what it takes to ask
            log(LogLevel::Debug, "control: ", current_status().message);
        }
        sleep_for(heard_pause);
    }
}

void have_heard(Store& store, int rank) noexcept {
    try {
        store.set(cat(heard_key, rank), "", Deadline::after_ms(tell_ms));
    } catch (...) {  // the store has gone with its rank
        log(LogLevel::Debug, "control: ", current_status().message);
    }
}

bool wait_for_ranks(const JoiningRank& caller, const Deadline& deadline,
                    const std::function<bool(const Deadline&)>& wait) {
    const bool hears_of_ends = is_of_whole_job(caller.size);
    while (!wait(deadline.or_earlier(Deadline::after_ms(look_ms)))) {
        if (deadline.expired()) return false;
        check_server_of(caller);
        if (const auto failure = read_failure(caller, deadline)) throw Error(*failure);
        if (!hears_of_ends) continue;
        if (const auto rank = read_end(caller.store, deadline)) {
            throw Error(TUTTI_ERR_PEER_LOST, cat("rank ", *rank, " has ended, before all had met"),
                        *rank);
        }
    }
    return true;
}

void publish_invitation(const JoiningRank& rank_0, const Invitation& mine,
                        const Deadline& deadline) {
    const std::string text = mine.text();
    std::string expected;  // none
    for (;;) {
        const auto there = rank_0.store.compare_set(invitation_key, expected, text, deadline);
        if (there == text) {
            // PyTorch's server without libuv wakes nobody for a compare_set, only for a set.
            return rank_0.store.set(invitation_key, text, deadline);
        }
        if (there == expected) {  // it has been withdrawn meanwhile
            expected.clear();
            continue;
        }
        if (still_answers(Invitation::parse(there), rank_0, deadline)) {
            throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                        "another process has already joined as rank 0, or another group uses this "
                        "store",
                        0);
        }
        if (deadline.expired()) {
            throw Error(TUTTI_ERR_TIMEOUT, "timed out publishing the invitation at the store", 0);
        }
        log(LogLevel::Info, "control: replaces a stale invitation");
        expected = there;
    }
}

void withdraw_invitation(Store& store, const Invitation& mine) noexcept {
    try {
        const Deadline deadline = Deadline::after_ms(withdrawal_ms);
        if (store.check(Store::Keys(&invitation_key, 1), deadline) &&
            store.get(invitation_key, deadline) == mine.text()) {
            store.delete_key(invitation_key, deadline);
        }
    } catch (...) {  // of a store that has gone before us
        log(LogLevel::Debug, "control: ", current_status().message);
    }
}

std::string name_of_coordinator(int rank) {
    return rank == nobody ? "the coordinator" : cat("rank ", rank);
}

Rank0Connection find_coordinator(const JoiningRank& caller, const std::optional<Invitation>& known,
                                 const Deadline& deadline) {
    CallsInVain calls(caller);
    for (Pauses pauses = Pauses::between_calls();;) {
        const auto next = Deadline::Clock::now() + pauses.next();
        Invitation invitation =
            known ? *known : Invitation::parse(read_invitation(caller, deadline));
        try {
            net::Socket socket = reach(invitation, caller, deadline);
            return {std::move(socket), std::move(invitation)};
        } catch (const Error& error) {
            // It may be what an earlier group left behind, and ours may be there soon.
            const bool no_time = deadline.expired() || next >= deadline.when();
            if (no_time || error.status().code != TUTTI_ERR_NETWORK) throw;
            if (!known) calls.failed(invitation, error.status(), deadline);
        }
        if (!known) {
            if (const auto failure = read_failure(caller, deadline)) throw Error(*failure);
        }
        sleep_until(Deadline::at(next));
    }
}

}  // namespace tutti::membership
