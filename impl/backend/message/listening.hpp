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
        count_down();
    }
    void transfer_done(Transfer& /*transfer*/) noexcept override { count_down(); }

    const int source;
    const int tag;
    Announcement announcement;
    Transfer transfer;

private:
    // When the post has returned and the announcement is there.
    void count_down() noexcept {
        if (--pending_ > 0) return;
        const auto self = shared_from_this();
        transfer.hold.reset();
        transfer.listener.reset();
        engine_->heard(self);
    }

    const std::shared_ptr<PointToPoint> engine_;
    std::atomic<int> pending_{2};
};

}  // namespace tutti
