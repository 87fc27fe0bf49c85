// An announcement that has been asked for.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "announcement.hpp"
#include "backend/channel.hpp"
#include "point_to_point.hpp"

namespace tutti {

class Listening : public TransferListener, public std::enable_shared_from_this<Listening> {
public:
    Listening(std::shared_ptr<PointToPoint> engine, int from, int with_tag)
        : source(from), tag(with_tag), engine_(std::move(engine)) {}
    // Throws what the channel throws; then nothing comes.
    void post() {
        transfer.listener = shared_from_this();
        Channel& channel = engine_->channel_;
        const Slot slot = Slot::announcement(tag);
        if (source == any_source) {
            channel.post_receive_any(transfer, slot, &announcement, sizeof announcement);
        } else {
            channel.post_receive(transfer, source, slot, &announcement, sizeof announcement);
        }
        let_go();
    }
    // At once, also amid the post: the order of these calls is the order of the messages.
    void transfer_done(Transfer& /*transfer*/) noexcept override {
        const auto self = shared_from_this();
        engine_->heard(self);
        let_go();
    }
    // It was never posted.
    void withdraw() noexcept {
        transfer.hold.reset();
        const auto self = std::move(transfer.listener);
    }

    const int source;
    const int tag;
    Announcement announcement;
    Transfer transfer;

private:
    // When the post has returned and the announcement is there.
    void let_go() noexcept {
        if (--pending_ == 0) withdraw();
    }

    const std::shared_ptr<PointToPoint> engine_;
    std::atomic<int> pending_{2};
};

}  // namespace tutti
