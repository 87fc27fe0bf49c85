// The connections of this rank to the others of its world over which its groups move data: each
// made with the first message between the two. One lock guards them and all messages; nothing waits
// with it, and nobody is called. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/mutex.hpp"
#include "completions.hpp"
#include "link.hpp"
#include "mailbox.hpp"
#include "membership/membership.hpp"
#include "membership/world.hpp"
#include "net/descriptor.hpp"
#include "net/loop.hpp"
#include "net/socket.hpp"
#include "request.hpp"
#include "transport/connector.hpp"
#include "transport/ended_groups.hpp"
#include "transport/tagged.hpp"
#include "waiting.hpp"

namespace tutti::tcp {

class Pool final : public LinkOwner, public RequestKeeper {
public:
    // As World::resource() makes it.
    explicit Pool(World& world);
    // Messages that were sent arrive first, as far as the others read.
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    // All members of a group call this before they send each other anything: it exchanges their
    // addresses.
    Mailbox& attach(Membership& group, const Deadline& deadline);
    // After its abort. Returns when all its requests have lost their owners.
    void detach(Mailbox& mailbox) noexcept;
    [[nodiscard]] Driver& driver() { return *waiting_; }

    // Ranks are those of the group.
    void send(Mailbox& mailbox, Transfer& transfer, int peer, Slot slot, const void* data,
              size_t bytes);
    void receive(Mailbox& mailbox, Transfer& transfer, int peer, Slot slot, void* data,
                 size_t bytes);
    void flush(Mailbox& mailbox, int peer) noexcept;
    void take_back(Mailbox& mailbox, int peer, Slot slot) noexcept;
    void abort(Mailbox& mailbox, const Status& status) noexcept;
    void abort_messages(Mailbox& mailbox, const Status& status) noexcept;
    void left(Mailbox& mailbox, int peer) noexcept;
    void leave(Mailbox& mailbox) noexcept;

    // Tagged messages, as TaggedMessages has them.
    void open_tagged(Mailbox& mailbox, std::weak_ptr<TaggedMessages::Listener> listener);
    void collect(Mailbox& mailbox, std::vector<TaggedMessages::Event>& events);
    TaggedPost& send_tagged(Mailbox& mailbox, void* owner, int peer, Slot slot, ConstBytes data);
    bool stop_tagged(Mailbox& mailbox, Post& send) noexcept;
    TaggedMessages::Taken take_tagged(Mailbox& mailbox, Arrival& arrival, void* owner, Bytes into);
    bool refuse_tagged(Mailbox& mailbox, Arrival& arrival) noexcept;
    void drop_tagged(Mailbox& mailbox, Arrival& arrival) noexcept;
    void expect(int receives) noexcept { waiting_->unattended() += static_cast<size_t>(receives); }
    void flush_tagged() noexcept;

    // By the request.
    void withdraw(Request& request) noexcept override;
    bool stop(Request& request) noexcept override;

private:
    template <typename Begin>
    void post(Mailbox& mailbox, Transfer& transfer, int peer, Slot slot, void* data, size_t bytes,
              Begin&& begin);
    [[nodiscard]] Link& link(int peer) TUTTI_REQUIRES(mutex_) {
        return *links_[static_cast<size_t>(peer)];
    }
    Post& enter(std::unique_ptr<Post> post, Mailbox& mailbox, int peer, Slot slot, void* data,
                size_t bytes) TUTTI_REQUIRES(mutex_);
    void flush_later(Link& link) TUTTI_REQUIRES(mutex_);
    bool advance() noexcept;
    bool move() TUTTI_REQUIRES(mutex_);
    void tell(bool however_deep = false) noexcept;
    void watch(Link& link, int socket, int operation, const Wants& wants);
    void adopt(int peer, net::Socket socket);
    void join(int peer, net::Socket socket, const std::optional<membership::Token>& proof) noexcept;
    void close_dead() noexcept;
    void flush() noexcept;
    [[nodiscard]] bool has_output() TUTTI_REQUIRES(mutex_);

    void connected(int peer, net::Socket socket) noexcept;
    void not_connected(int peer, const Status& why) noexcept;
    void give_up(int peer, const Status& lack) noexcept;

    // By links, under the lock.
    Mailbox* mailbox(uint32_t group) override;
    void said_goodbye(int peer, uint32_t group) override;
    void wants(Link& link, int socket, const Wants& now, const Wants& before) override;
    void closes(int socket) override;
    void closed(Link& link, const std::string& reason) override;

    World& world_;
    const net::Descriptor sockets_;  // epoll's
    Completions completions_;
    Mutex mutex_;
    bool is_ending_ TUTTI_GUARDED_BY(mutex_) = false;
    std::vector<std::unique_ptr<Link>> links_ TUTTI_GUARDED_BY(mutex_);  // by rank
    std::vector<Link*> open_ TUTTI_GUARDED_BY(mutex_);
    // Why there is no connection, by rank. Groups that open later need to know.
    std::map<int, Status> lacks_ TUTTI_GUARDED_BY(mutex_);
    News news_;
    std::vector<Link*> to_flush_ TUTTI_GUARDED_BY(mutex_);
    std::atomic<bool> has_to_flush_{false};
    std::map<uint32_t, std::unique_ptr<Mailbox>> mailboxes_ TUTTI_GUARDED_BY(mutex_);
    EndedGroups ended_ TUTTI_GUARDED_BY(mutex_);
    std::optional<Waiting> waiting_;
    const std::shared_ptr<net::Loop> loop_;
    std::optional<net::Timer> looks_;     // after connections whose line is dead; the loop's
    std::optional<Connector> connector_;  // last: its events use all of this
};

}  // namespace tutti::tcp
