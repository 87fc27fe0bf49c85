// Checks the process that answers a call. The loop's thread.
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "connector.hpp"

namespace tutti {

namespace {

constexpr int64_t look_ms = 200;  // whether those who say nothing still are there

}  // namespace

void Connector::await_answer(int peer, Greeted greeted, int descriptor) noexcept {
    net::Stream::Events events;
    events.data = [this, peer](std::span<const std::byte> bytes) { receive_answer(peer, bytes); };
    events.closed = [this, peer](const Status& why) {
        auto lost = greeted_.extract(peer);
        if (lost) lose_answer(peer, std::move(lost.mapped()), why);
    };
    try {
        greeted.stream = net::Stream::adopt(*loop_, descriptor, std::move(events));
        greeted.stream->read_at_most(sizeof(membership::Token));
        greeted_.insert_or_assign(peer, std::move(greeted));
        looks_->start(look_ms, look_ms);
    } catch (...) {
        lose_answer(peer, std::move(greeted), current_status());
    }
}

void Connector::receive_answer(int peer, std::span<const std::byte> bytes) noexcept {
    const auto found = greeted_.find(peer);
    if (found == greeted_.end()) return;
    found->second.received.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (found->second.received.size() < sizeof(membership::Token)) return;
    Greeted whole = std::move(found->second);
    greeted_.erase(found);
    try {
        take_answer(peer, whole);
    } catch (...) {
        lose_answer(peer, std::move(whole), current_status());
    }
}

// The process that answers must be that rank: on another host the same address may lead elsewhere.
void Connector::take_answer(int peer, Greeted& greeted) {
    membership::Token secret{};
    std::memcpy(&secret, greeted.received.data(), sizeof secret);
    if (secret == dropped) {
        const Lock lock(mutex_);
        State& state = peers_[static_cast<size_t>(peer)].state;
        if (state != State::ShakingHands) return;
        if (world_.is_gone(peer)) {
            throw Error(TUTTI_ERR_PEER_LOST, "it left before it had called", peer);
        }
        state = State::AwaitingPeer;
        return;
    }
    if (secret != own_.secret) {
        throw Error(TUTTI_ERR_NETWORK, cat("the process at ", greeted.host, " is not rank ", peer),
                    peer);
    }
    net::Socket connection(greeted.stream->release());
    if (!advance(peer, State::ShakingHands, State::Connected)) return;
    {
        const Lock lock(mutex_);
        hidden_.erase(way_to(peer));
    }
    want_further(peer, connection);
    events_.connected(peer, std::move(connection));
}

// Whether they still are there, and whether their answer is still wanted.
void Connector::miss_answers() noexcept {
    std::vector<int> late;
    for (auto& [peer, greeted] : greeted_) {
        // Messages sent before it left may be on its way, for as long as it would stay for that.
        if (world_.has_departed(peer)) {
            greeted.until = greeted.until.or_earlier(Deadline::after_ms(world_.leave_ms()));
        }
        const bool is_lost = !world_.loss_of(peer).ok();
        if (is_lost || greeted.until.expired() || !is_greeting(peer)) late.push_back(peer);
    }
    for (const int peer : late) {
        auto lost = greeted_.extract(peer);
        lose_answer(peer, std::move(lost.mapped()),
                    {TUTTI_ERR_TIMEOUT, peer, 0, "it accepted the connection but did not answer"});
    }
    if (greeted_.empty()) looks_->stop();
}

// At another address the right one may answer.
void Connector::lose_answer(int peer, Greeted greeted, Status why) noexcept {
    if (!is_greeting(peer)) return;
    const bool is_other_way = !greeted.is_last && why.code != TUTTI_ERR_OUT_OF_MEMORY;
    if (!is_other_way || world_.is_gone(peer))
        return call_again(peer, std::move(greeted.then), why);
    log(LogLevel::Debug, "transport: ", why.message);
    greeted.then.strangers.push_back(greeted.host);
    greeted.then.next = Deadline::Clock::now();
    Status failure;
    {
        const Lock lock(mutex_);
        if (peers_[static_cast<size_t>(peer)].state != State::ShakingHands) return;
        failure = start_connecting(peer, std::move(greeted.then));
    }
    if (!failure.ok()) fail(peer, failure);
}

bool Connector::is_greeting(int peer) {
    const Lock lock(mutex_);
    return peers_[static_cast<size_t>(peer)].state == State::ShakingHands;
}

}  // namespace tutti
