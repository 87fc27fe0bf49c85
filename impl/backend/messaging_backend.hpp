// An inline backend whose messages go by the engine of message/: by rings to ranks whose memory
// this one sees, to the others by what the derived class adds.
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
    void send(const Send& call, const Deadline& deadline) override;
    int receive(const Receive& call, const Deadline& deadline) override;
    void abort(const Status& status) noexcept override { messages_->abort(status); }

protected:
    // The membership lives longer.
    MessagingBackend(Membership& membership, const message::Neighbours& neighbours);
    ~MessagingBackend() override { end_messages(); }

    [[nodiscard]] message::Messages& messages() { return *messages_; }
    // What the neighbours have shared by now.
    void see(const shm::Shared& shared) { rings_.see(shared); }
    // Before what the messages use goes: the derived class's channel, or its memory.
    void end_messages() noexcept;

private:
    const std::shared_ptr<message::Messages> messages_;
    message::Rings rings_;
};

}  // namespace tutti
