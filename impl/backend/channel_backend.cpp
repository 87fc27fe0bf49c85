#include "channel_backend.hpp"

#include <utility>

#include "algorithm/algorithm.hpp"
#include "algorithm/tell_all.hpp"

namespace tutti {

ChannelBackend::ChannelBackend(std::unique_ptr<Channel> channel)
    : channel_(std::move(channel)), messages_(std::make_shared<PointToPoint>(*channel_)) {}

ChannelBackend::~ChannelBackend() {
    abort({TUTTI_ERR_ABORTED, -1, 0, "the group was destroyed"});
    messages_->close();
}

void ChannelBackend::run(const Collective& call, uint64_t number, const Deadline& deadline) {
    algorithm::run(*channel_, call, number, deadline);
}

std::vector<uint32_t> ChannelBackend::tell_all(uint32_t mine, const Deadline& deadline) {
    constexpr uint32_t step = 100;  // backends have those before for themselves
    return algorithm::tell_all(*channel_, step, mine, deadline);
}

void ChannelBackend::start(const Send& call, const Deadline& deadline, std::shared_ptr<Work> work) {
    messages_->start(call, deadline, std::move(work));
}

void ChannelBackend::start(const Receive& call, const Deadline& deadline,
                           std::shared_ptr<Work> work) {
    messages_->start(call, deadline, std::move(work));
}

std::unique_ptr<Backend> ChannelBackend::branch(const Branch& branch) {
    return std::make_unique<ChannelBackend>(channel_->branch(branch));
}

void ChannelBackend::abort(const Status& status) noexcept {
    channel_->abort(status);
    messages_->abort(status);
}

}  // namespace tutti
