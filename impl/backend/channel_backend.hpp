// A backend made of a Channel: the algorithms of algorithm/ for collectives, PointToPoint for
// messages.
#pragma once

#include <memory>

#include "backend.hpp"
#include "channel.hpp"
#include "message/point_to_point.hpp"

namespace tutti {

class ChannelBackend : public Backend {
public:
    explicit ChannelBackend(std::unique_ptr<Channel> channel);
    ~ChannelBackend() override;

    [[nodiscard]] const char* name() const override { return channel_->name(); }
    void run(const Collective& call, uint64_t number, const Deadline& deadline) override;
    void start(const Send& call, const Deadline& deadline, std::shared_ptr<Work> work) override;
    void start(const Receive& call, const Deadline& deadline, std::shared_ptr<Work> work) override;
    std::vector<uint32_t> tell_all(uint32_t mine, const Deadline& deadline) override;
    void report(const Status& cause) noexcept override { channel_->report(cause); }
    void abort(const Status& status) noexcept override;
    void leave() noexcept override { channel_->leave(); }
    [[nodiscard]] bool same_host(int peer) const override { return channel_->same_host(peer); }
    [[nodiscard]] std::string identity() const override { return channel_->identity(); }
    [[nodiscard]] Status trouble(int peer) const override { return channel_->trouble(peer); }
    std::optional<std::string> reserve(const std::string& path) override {
        return channel_->reserve(path);
    }
    void cancel(const std::string& path) noexcept override { channel_->cancel(path); }
    std::unique_ptr<Backend> branch(const Branch& branch) override;

protected:
    [[nodiscard]] Channel& channel() const { return *channel_; }

private:
    const std::unique_ptr<Channel> channel_;
    const std::shared_ptr<PointToPoint> messages_;
};

}  // namespace tutti
