// A backend made of a Channel: collectives by the algorithms of algorithm/; messages by the
// channel, but to ranks whose memory this one sees.
#pragma once

#include <memory>

#include "backend/messaging_backend.hpp"
#include "call/past_calls.hpp"
#include "transport/channel.hpp"

namespace tutti {

class ChannelBackend : public MessagingBackend {
public:
    explicit ChannelBackend(std::unique_ptr<Channel> channel,
                            const message::Neighbours& neighbours = {});
    ~ChannelBackend() override;

    [[nodiscard]] const char* name() const override { return channel_->name(); }
    void run(const FlatCall& call, uint64_t sequence, const Deadline& deadline) override;
    void abort(const Status& status) noexcept override;
    void abort_messages(const Status& status) noexcept override;
    void left(int rank) noexcept override { channel_->left(rank); }
    void leave() noexcept override { channel_->leave(); }

protected:
    [[nodiscard]] Channel& channel() const { return *channel_; }

    PastCalls past_;  // calls come one after the other

private:
    const std::unique_ptr<Channel> channel_;
};

}  // namespace tutti
