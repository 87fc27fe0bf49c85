// One connection to one rank: a pair of Gloo's, made safe. Gloo's own would spin, sleep for ever or
// end the process on what a peer or a dead buffer can do to it (see README.md); here each of these
// closes this connection or drops the message, and every completion reaches its request. Gloo's
// loop thread and the threads that post; Gloo's pair lock guards it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gloo/common/store.h>
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/pair.h>

#include "request.hpp"
#include "wire.hpp"

namespace tutti::gloo_channel {

// Called with the connection's lock held.
class ConnectionOwner {
public:
    virtual void connection_closed(int peer, const std::string& reason) noexcept = 0;
    // A word, as send_control() on the other side sent it. Throws if it is malformed.
    virtual void control_received(int peer, WireSlot slot, std::span<const std::byte> word) = 0;
    // Whether the slot is that of a group that lives, or may soon.
    virtual bool awaits(WireSlot slot) noexcept = 0;

protected:
    ~ConnectionOwner() = default;
};

class Connection : public ::gloo::transport::tcp::Pair {
public:
    Connection(::gloo::transport::tcp::Context* context, ::gloo::transport::tcp::Device* device,
               int peer, ConnectionOwner& owner);
    ~Connection() override;

    // Takes a connected socket.
    void adopt(int descriptor);
    [[nodiscard]] bool closed();

    // Sends a short word that no receive needs to be posted for; behind all that was sent before. A
    // closed connection drops it.
    void send_control(WireSlot slot, std::string word) noexcept;
    // The request goes. If half of it has left, its receiver gets the other half from a copy.
    void keep_rest_of(Request& request) noexcept;
    // In place of a message that was withdrawn before there was this connection.
    void send_nothing(WireSlot slot);
    // The group of that number is no more.
    void forget(uint32_t number) noexcept;

private:
    using Pair = ::gloo::transport::tcp::Pair;
    using Op = ::gloo::transport::tcp::Op;
    using Weak = ::gloo::WeakNonOwningPtr<::gloo::transport::tcp::UnboundBuffer>;
    using Held = ::gloo::NonOwningPtr<::gloo::transport::tcp::UnboundBuffer>;
    class Blank;
    class Copy;

#if defined(GLOO_SHARED_STORE)  // 2025 and later
    void handleEvents(::gloo::transport::tcp::Loop& /*loop*/, int events) override {
        handle(events);
    }
#else
    void handleEvents(int events) override {
        handle(events);
    }
#endif
    void handle(int events) noexcept;
    bool read() override;
    bool write(Op& op) override;
    void changeState(state next) noexcept override;

    enum class Progress { Done, Wait, Broken };
    Progress receive_some(char* memory, size_t bytes);
    Progress read_preamble();
    bool examine();
    bool examine_notice();
    bool examine_data();
    Progress skip();
    Progress read_word();
    void end_message();
    Progress read_into(char* place, size_t from, size_t until);
    void drop_copy(const ::gloo::transport::tcp::UnboundBuffer* copy);
    [[nodiscard]] bool is_own(const Held& held) const;
    void refuse(const std::string& reason);
    static Request& request(const Held& held);

    ConnectionOwner& owner_;
    std::string reason_ = "closed";
    bool examined_ = false;  // the preamble of the message that comes in
    bool skipping_ = false;  // nobody wants the rest of it
    std::string word_;       // that comes in
    Weak target_;            // who gets it
    std::unique_ptr<Blank> blank_;
    std::vector<std::unique_ptr<Copy>> copies_;  // on their way out, the memory of nobody else
};

}  // namespace tutti::gloo_channel
