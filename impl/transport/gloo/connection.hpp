// One connection to one rank: a pair of Gloo's, made safe. On a misbehaving peer or a dead buffer
// Gloo's own would spin, sleep for ever or end the process (see README.md). This one closes the
// connection or drops the message, and every completion reaches its request. Gloo's loop thread and
// the threads that post; Gloo's pair lock guards it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <gloo/common/store.h>
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/pair.h>

#include "notices.hpp"
#include "request.hpp"
#include "wire.hpp"

namespace tutti::gloo_channel {

// Called with the connection's lock held.
class ConnectionOwner {
public:
    virtual void connection_closed(Completions& completions, int peer,
                                   const std::string& reason) noexcept = 0;
    // A control message, as passed to send_control() on the other side. Throws if it is malformed.
    virtual void control_received(Completions& completions, int peer, WireSlot slot,
                                  std::span<const std::byte> control) = 0;
    // Whether the slot belongs to a group that lives, or may soon.
    virtual bool awaits(WireSlot slot) noexcept = 0;

protected:
    ~ConnectionOwner() = default;
};

class Connection : public ::gloo::transport::tcp::Pair {
public:
    Connection(::gloo::transport::tcp::Context* context, ::gloo::transport::tcp::Device* device,
               int peer, ConnectionOwner& owner, Notices& notices);
    ~Connection() override;

    // Takes a connected socket.
    void adopt(Completions& open, int descriptor);
    [[nodiscard]] bool closed();

    // Both throw if it has closed.
    void send_message(Completions& open, Request& request, WireSlot slot);
    void receive_message(Completions& open, Request::Weak buffer, WireSlot slot, size_t bytes);
    // The same of a receive from any rank, if this one has given notice of a message that is left.
    bool try_receive(Completions& open, Request& request, WireSlot slot);
    // Sends a short control message, which needs no posted receive, behind all that was sent
    // before. A closed connection drops it.
    void send_control(Completions& open, WireSlot slot, std::string control) noexcept;
    // The request is being destroyed. If half of it is sent, the rest is sent from a copy.
    void keep_rest_of(Request& request) noexcept;
    // In place of a message that was withdrawn before this connection existed.
    void send_nothing(Completions& open, WireSlot slot);
    // The group of that id has ended.
    void forget(uint32_t group_id) noexcept;

private:
    using Pair = ::gloo::transport::tcp::Pair;
    using Pair::recv;  // not used: they search lists of Gloo's
    using Pair::send;
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
    void post_send(Weak buffer, uint64_t slot, size_t bytes);
    void post_receive(Weak buffer, uint64_t slot, size_t bytes);
    void take_notice(Op::Opcode opcode, uint64_t slot);
    Progress skip();
    Progress read_control();
    void end_message();
    Progress read_into(char* place, size_t from, size_t until);
    void drop_copy(const ::gloo::transport::tcp::UnboundBuffer* copy);
    [[nodiscard]] bool is_own(const Held& held) const;
    void refuse(const std::string& reason);
    static Request& request(const Held& held);

    // Numbers of messages, by slot.
    class Counts {
    public:
        void add(uint64_t slot) { ++counts_[slot]; }
        bool take(uint64_t slot);  // one; false: there is none
        void forget(uint32_t group_id);

    private:
        std::unordered_map<uint64_t, size_t> counts_;
    };

    ConnectionOwner& owner_;
    Notices& notices_;
    Counts expected_;  // notices of sends whose receives are posted
    Counts awaited_;   // the other side's receives whose sends are not
    std::string reason_ = "closed";
    bool examined_ = false;  // the preamble of the incoming message
    bool skipping_ = false;  // the rest of it is dropped
    std::string control_;    // the incoming one
    Weak target_;            // of the incoming message
    std::unique_ptr<Blank> blank_;
    std::vector<std::unique_ptr<Copy>> copies_;  // being sent, with memory of their own
};

}  // namespace tutti::gloo_channel
