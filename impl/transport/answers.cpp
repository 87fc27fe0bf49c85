#include "answers.hpp"

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace tutti {

namespace {

constexpr int64_t look_ms = 200;  // whether those who say nothing are still there

}  // namespace

Answers::Answers(net::Loop& loop, const World& world, Events events)
    : loop_(loop), world_(world), events_(std::move(events)), looks_(loop, [this] { look(); }) {}

void Answers::await(int peer, Taken taken, int descriptor) noexcept {
    net::Stream::Events events;
    events.data = [this, peer](std::span<const std::byte> bytes) { receive(peer, bytes); };
    events.closed = [this, peer](const Status& why) { lose(peer, why); };
    try {
        auto stream = net::Stream::adopt(loop_, descriptor, std::move(events));
        stream->read_at_most(sizeof(membership::Token));
        entries_.insert_or_assign(peer, Entry{taken, std::move(stream)});
        looks_.start(look_ms, look_ms);
    } catch (...) {
        events_.lost(peer, std::move(taken), current_status());
    }
}

void Answers::receive(int peer, std::span<const std::byte> bytes) noexcept {
    const auto found = entries_.find(peer);
    if (found == entries_.end()) return;
    std::string& received = found->second.received;
    received.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    membership::Token answer{};
    if (received.size() < sizeof answer) return;
    std::memcpy(&answer, received.data(), sizeof answer);
    auto whole = entries_.extract(found);
    Entry& entry = whole.mapped();
    try {
        events_.answered(peer, entry.taken, answer, *entry.stream);
    } catch (...) {
        events_.lost(peer, std::move(entry.taken), current_status());
    }
}

// Whether they are still there, and whether their answer is still awaited.
void Answers::look() noexcept {
    std::vector<int> late;
    for (auto& [peer, entry] : entries_) {
        Deadline& until = entry.taken.until;
        // Messages sent before it left may be on its way, for as long as it would stay for that.
        if (world_.has_departed(peer)) {
            until = until.or_earlier(Deadline::after_ms(world_.leave_ms()));
        }
        const bool is_lost = !world_.loss_of(peer).ok();
        if (is_lost || until.expired() || !events_.is_awaited(peer)) late.push_back(peer);
    }
    for (const int peer : late) {
        lose(peer, {TUTTI_ERR_TIMEOUT, peer, 0, "it accepted the connection but did not answer"});
    }
    if (entries_.empty()) looks_.stop();
}

void Answers::lose(int peer, const Status& why) noexcept {
    auto lost = entries_.extract(peer);
    if (lost) events_.lost(peer, std::move(lost.mapped().taken), why);
}

}  // namespace tutti
