// A channel that does what it is told: it completes transfers when the test says so, and sees when
// it is let go of. Posts and tests may come from several threads.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <tuple>

#include "message/lanes/channel_transfer.hpp"
#include "message/lanes/lanes.hpp"
#include "support/quiet_world.hpp"
#include "unit/transport/ranks.hpp"

namespace tutti::test {

// The shortest message whose data travel apart from its announcement.
constexpr size_t apart = message::Announcement::eager_bytes + 1;

struct Posted {
    Transfer* transfer;
    int peer;
    bool is_send;
    uint64_t slot;
    void* data;
    size_t bytes;
};

// The function of a test that is called when a transfer is let go of. Called on whichever thread
// does so.
using LetGo = std::function<void(const Posted&)>;

// Of rank 0 of three.
struct QuietMembership {
    Membership membership{std::make_shared<QuietWorld>(0, 3), 0, {0, 1, 2}};
};

class PuppetChannel : private QuietMembership, public Channel {
public:
    PuppetChannel() : Channel(QuietMembership::membership) {}

    [[nodiscard]] const char* name() const override { return "puppet"; }
    void post_send(Transfer& transfer, int peer, Slot slot, const void* data,
                   size_t bytes) override {
        post({&transfer, peer, true, slot.value(), const_cast<void*>(data), bytes});
    }
    void post_receive(Transfer& transfer, int peer, Slot slot, void* data, size_t bytes) override {
        post({&transfer, peer, false, slot.value(), data, bytes});
    }
    void post_receive_any(Transfer& transfer, Slot slot, void* data, size_t bytes) override {
        post({&transfer, -1, false, slot.value(), data, bytes});
    }
    void abort_messages(const Status& status) noexcept override { abort(status); }
    void abort(const Status& status) noexcept override {
        while (!is_idle()) complete(status, -1, 0);
    }
    void left(int /*peer*/) noexcept override {}
    void leave() noexcept override {}

    void on_let_go(LetGo function) { let_go_ = std::move(function); }
    [[nodiscard]] size_t held() const {
        const std::lock_guard lock(mutex_);
        return posted_.size();
    }
    // The oldest that is not done, with what keeps its owner alive.
    std::pair<Posted, std::shared_ptr<TransferListener>> oldest() const {
        const std::lock_guard lock(mutex_);
        const auto found = first_under_way();
        require(found != posted_.end(), "nothing is under way");
        return {*found, found->transfer->listener};
    }
    [[nodiscard]] bool is_idle() const {
        const std::lock_guard lock(mutex_);
        return first_under_way() == posted_.end();
    }
    // Which of the sends that are under way are followed by another one, in the order of the posts.
    [[nodiscard]] std::vector<bool> followed() const {
        const std::lock_guard lock(mutex_);
        std::vector<bool> all;
        for (const Posted& one : posted_) {
            if (one.is_send) all.push_back(one.transfer->is_followed);
        }
        return all;
    }
    // Completes the oldest transfer as a channel does.
    void complete(const Status& status, int peer, size_t bytes) {
        const auto [one, listener] = oldest();
        complete(one, listener, status, peer, bytes);
    }
    // Nothing, if it was stopped meanwhile.
    void complete(const Posted& one, const std::shared_ptr<TransferListener>& listener,
                  const Status& status, int peer, size_t bytes) {
        {
            const std::lock_guard lock(mutex_);
            if (std::ranges::find(posted_, one.transfer, &Posted::transfer) == posted_.end())
                return;
            one.transfer->status = status;
            one.transfer->peer = peer;
            one.transfer->bytes = bytes;
            one.transfer->done.store(true, std::memory_order_release);
        }
        listener->transfer_done(*one.transfer);
    }
    // Transfers that cannot be stopped, for their bytes move. Before the first post.
    void let_move(std::function<bool(const Posted&)> moves) { moves_ = std::move(moves); }
    // The oldest is an announcement that is listened for: here it is.
    void announce(int peer, int64_t count, const std::string& data) {
        const Posted one = oldest().first;
        auto& announcement = *static_cast<message::Announcement*>(one.data);
        announcement.header = {count, 1, TUTTI_UINT8, Content::Elements, 0};
        std::memcpy(announcement.data.data(), data.data(), data.size());
        complete({}, peer, sizeof(message::Announcement::Header) + data.size());
    }

private:
    struct Hold : TransferHold {
        PuppetChannel& channel;
        Posted posted;
        Hold(PuppetChannel& channel_, const Posted& posted_) : channel(channel_), posted(posted_) {}
        ~Hold() override {
            if (channel.let_go_) channel.let_go_(posted);
            const std::lock_guard lock(channel.mutex_);
            channel.erase(posted.transfer);
        }
        bool stop() noexcept override {
            const std::lock_guard lock(channel.mutex_);
            if (posted.transfer->done || channel.moves_(posted)) return false;
            channel.erase(posted.transfer);
            return true;
        }
    };
    void erase(const Transfer* transfer) {
        std::erase_if(posted_, [&](const Posted& one) { return one.transfer == transfer; });
    }
    [[nodiscard]] std::deque<Posted>::const_iterator first_under_way() const {
        return std::ranges::find_if(posted_, [](const Posted& one) { return !one.transfer->done; });
    }
    void post(const Posted& one) {
        one.transfer->hold = std::make_unique<Hold>(*this, one);
        const std::lock_guard lock(mutex_);
        posted_.push_back(one);
    }

    LetGo let_go_;
    mutable std::mutex mutex_;
    std::deque<Posted> posted_;
    std::function<bool(const Posted&)> moves_ = [](const Posted&) { return false; };
};

// An engine that reaches all ranks by the channel.
inline std::shared_ptr<message::Messages> messages_over(Channel& channel) {
    auto messages = std::make_shared<message::Messages>(message::Messages::Setting{
        channel.rank(), channel.size(),
        [&channel](int rank) { return channel.membership().trouble(rank); }});
    message::Lanes::add_to(*messages, channel, [](int) { return false; });
    return messages;
}

struct Fixture {
    PuppetChannel channel;
    std::shared_ptr<message::Messages> messages = messages_over(channel);
    std::vector<std::byte> data = std::vector<std::byte>(apart);
    std::shared_ptr<Work> work = std::make_shared<Work>();

    void send(size_t bytes, int64_t timeout_ms = -1, int to = 1) {
        const ConstView view{data.data(), static_cast<int64_t>(bytes), TUTTI_UINT8};
        messages->start(Send{view, to, 0}, Deadline::after_ms(timeout_ms), work);
    }
    void receive(size_t bytes, int64_t timeout_ms = -1, int from = 1) {
        const View view{data.data(), static_cast<int64_t>(bytes), TUTTI_UINT8};
        messages->start(Receive{view, from, 0}, Deadline::after_ms(timeout_ms), work);
    }
    // The abort and close that a backend's destruction does; true if nothing lives on.
    bool close() {
        const Status status{TUTTI_ERR_ABORTED, -1, 0, "destroyed"};
        channel.abort(status);
        messages->abort(status);
        messages->close();
        const std::weak_ptr<message::Messages> watched = messages;
        messages.reset();
        const auto limit = Deadline::after_ms(10'000);  // the alarm may hold it for a moment
        while (!watched.expired() && !limit.expired()) std::this_thread::yield();
        return watched.expired() && channel.held() == 0;
    }
};

}  // namespace tutti::test
