// An announcement that has been asked for.
#pragma once

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
    void post() {
        transfer.listener = shared_from_this();
        Channel& channel = engine_->channel_;
        const Slot slot = Slot::announcement(tag);
        if (source == any_source) {
            channel.post_receive_any(transfer, slot, &announcement, sizeof announcement);
        } else {
            channel.post_receive(transfer, source, slot, &announcement, sizeof announcement);
        }
    }
    void transfer_done(Transfer& /*transfer*/) noexcept override {
        const auto self = std::move(transfer.listener);
        engine_->heard(shared_from_this());
    }

    const int source;
    const int tag;
    Announcement announcement;
    Transfer transfer;

private:
    const std::shared_ptr<PointToPoint> engine_;
};

}  // namespace tutti
