#include "channel_backend.hpp"

#include <utility>

#include "algorithm/algorithm.hpp"
#include "message/lanes/lanes.hpp"
#include "message/tags/tags.hpp"

namespace tutti {

ChannelBackend::ChannelBackend(std::unique_ptr<Channel> channel,
                               const message::Neighbours& neighbours)
    : MessagingBackend(channel->membership(), neighbours, channel->driver()),
      channel_(std::move(channel)) {
    const auto add = channel_->tagged() != nullptr ? message::Tags::add_to : message::Lanes::add_to;
    add(messages(), *channel_, [&](int rank) { return neighbours.has(rank); });
}

ChannelBackend::~ChannelBackend() {
    end_messages();
}

void ChannelBackend::run(const FlatCall& call, uint64_t sequence, const Deadline& deadline) {
    algorithm::run(*channel_, call, sequence, deadline, past_);
    past_.add(call.fingerprint, sequence);
}

void ChannelBackend::abort(const Status& status) noexcept {
    channel_->abort(status);
    MessagingBackend::abort(status);
}

void ChannelBackend::abort_messages(const Status& status) noexcept {
    channel_->abort_messages(status);
    MessagingBackend::abort_messages(status);
}

}  // namespace tutti
