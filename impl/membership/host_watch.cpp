#include "host_watch.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "missing_ranks.hpp"
#include "net/pending_peers.hpp"

namespace tutti::membership {

namespace {

using std::chrono::milliseconds;

// A rank that ended after its farewell: by then it is known that it has left.
constexpr milliseconds farewell_travels{500};
// So many times the limit may pass for a rank that waits for a processor, on a busy host.
constexpr int64_t patience_with_starved = 10;
constexpr size_t descriptors_for_one = 2;

}  // namespace

HostWatch::HostWatch(net::Loop& loop, const Heartbeat& heartbeat, const net::Mailbox& mail,
                     int own_rank, const std::vector<Endpoint>& endpoints)
    : loop_(loop), heartbeat_(heartbeat), mail_(mail), own_rank_(own_rank) {
    const Endpoint& own = endpoints[static_cast<size_t>(own_rank)];
    if (own.thread.process == 0) return;
    for (size_t rank = 0; rank < endpoints.size(); ++rank) {
        const Endpoint& endpoint = endpoints[rank];
        if (endpoint.thread.process != 0 && endpoint.host == own.host &&
            endpoint.thread.numbering == own.thread.numbering) {
            neighbours_[static_cast<int>(rank)] = endpoint;
        }
    }
}

// In ascending order.
std::vector<int> HostWatch::choose(const std::function<bool(int)>& is_gone) const {
    std::vector<int> living;
    for (const auto& [rank, endpoint] : neighbours_) {
        if (rank != own_rank_ && is_gone(rank)) continue;
        living.push_back(rank);
        if (living.front() != own_rank_) return living;  // the watcher of all others
    }
    if (!living.empty()) living.erase(living.begin());
    return living;
}

void HostWatch::open(int rank, Clock::time_point now) {
    const Endpoint& endpoint = neighbours_[rank];
    try {
        Observation& observation = observations_[rank];
        observation.ran = now;
        observation.watch =
            std::make_unique<net::ThreadWatch>(loop_, endpoint.thread, [&observation] {
                observation.has_ended = true;
                observation.ended = Clock::now();
            });
        // It has to be reached as well, lest it never hear that the coordinator falls silent.
        if (mail_.send(endpoint.mailbox, "?")) return;
        log(LogLevel::Info, "control: rank ", rank, " cannot be sent notes");
    } catch (const Error& error) {
        log(LogLevel::Info, "control: rank ", rank, ": ", error.what());
    }
    hidden_.insert(rank);
    observations_.erase(rank);
}

void HostWatch::look(const std::function<bool(int)>& is_gone, Clock::time_point now,
                     bool was_suspended) {
    std::vector<int> wanted = choose(is_gone);
    std::erase_if(wanted, [this](int rank) { return hidden_.contains(rank); });
    std::erase_if(observations_, [&](const auto& entry) {
        return !std::ranges::binary_search(wanted, entry.first);
    });
    std::optional<size_t> room;  // descriptors, most of which are for data and for the program
    for (const int rank : wanted) {
        const auto observation = observations_.find(rank);
        if (observation == observations_.end()) {
            if (!room) room = net::free_descriptors() / 4;
            if (*room < descriptors_for_one) {
                hidden_.insert(rank);
                continue;
            }
            *room -= descriptors_for_one;
            open(rank, now);
        } else {
            look_at(observation->second, now, was_suspended);
        }
    }
    watched_.clear();
    held_.clear();
    for (const auto& [rank, observation] : observations_) {
        watched_.push_back(rank);
        if (observation.is_held) held_.insert(rank);
    }
}

// A rank that does not run may be held by a debugger: then it is not silent. The kernel is asked
// for that only of one that is quiet.
void HostWatch::look_at(Observation& observation, Clock::time_point now, bool was_suspended) const {
    if (observation.watch->has_run()) {
        observation.ran = now;
        observation.is_held = false;
        return;
    }
    if (was_suspended) observation.ran = now;
    const bool is_quiet = now - observation.ran > milliseconds(heartbeat_.timeout_ms / 2);
    if (!is_quiet && !observation.is_held) return;
    observation.is_held = observation.watch->is_held();
    if (observation.is_held) observation.ran = now;
}

bool HostWatch::is_silent(const Observation& observation, Clock::time_point now) const {
    const milliseconds limit(heartbeat_.timeout_ms);
    if (heartbeat_.timeout_ms == 0 || now - observation.ran <= limit) return false;
    return now - observation.ran > patience_with_starved * limit ||
           !observation.watch->wants_to_run();
}

std::vector<Status> HostWatch::findings(Clock::time_point now) const {
    std::vector<Status> all;
    for (const auto& [rank, observation] : observations_) {
        if (observation.has_ended) {
            if (now - observation.ended > farewell_travels) {
                all.push_back(
                    death_error(rank, {TUTTI_ERR_PEER_LOST, rank, ESRCH, "its process ended"}));
            }
        } else if (is_silent(observation, now)) {
            all.push_back(membership::silence_error(rank, heartbeat_.timeout_ms));
        }
    }
    return all;
}

void HostWatch::send_to_ask() const {
    for (const auto& [rank, observation] : observations_) {
        if (rank > own_rank_) (void)mail_.send(neighbours_.at(rank).mailbox, "?");
    }
}

}  // namespace tutti::membership
