// An inline backend whose messages use the engine of message/: rings for ranks whose memory this
// one sees, the derived class's peers for the others.
#pragma once

#include <memory>

#include "inline_backend.hpp"
#include "membership/membership.hpp"
#include "memory/shared.hpp"
#include "message/messages.hpp"
#include "message/rings/rings.hpp"

namespace tutti {

class MessagingBackend : public InlineBackend {
public:
    void start(const Send& call, const Deadline& deadline, std::shared_ptr<Work> work) override;
    void start(const Receive& call, const Deadline& deadline, std::shared_ptr<Work> work) override;
    void start_batch(std::span<const Message> batch, const Deadline& deadline,
                     std::span<const std::shared_ptr<Work>> works) override {
        messages_->start(batch, deadline, works);
    }
    void send(const Send& call, const Deadline& deadline) override;
    int receive(const Receive& call, const Deadline& deadline) override;
    std::optional<BatchEnd> run_batch(std::span<const Message> batch,
                                      const Deadline& deadline) override {
        return messages_->run(batch, deadline);
    }
    bool cancel(const Work& receive) noexcept override { return messages_->cancel(receive); }
    [[nodiscard]] Helper* message_helper() noexcept override { return messages_.get(); }
    void abort(const Status& status) noexcept override { messages_->abort(status); }
    void abort_messages(const Status& status) noexcept override { messages_->abort(status); }

protected:
    // The membership lives longer.
    MessagingBackend(Membership& membership, const message::Neighbours& neighbours,
                     Driver* driver = nullptr);
    ~MessagingBackend() override { end_messages(); }

    [[nodiscard]] message::Messages& messages() { return *messages_; }
    // The blocks that the neighbours share by now.
    void see(const shm::Shared& shared) { rings_.see(shared); }
    // To be called before the channel or memory that messages use is destroyed.
    void end_messages() noexcept;

private:
    const std::shared_ptr<message::Messages> messages_;
    message::Rings rings_;
};

}  // namespace tutti
