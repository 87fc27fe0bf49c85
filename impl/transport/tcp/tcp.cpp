#include "tcp.hpp"

#include <utility>

#include "pool.hpp"

namespace tutti::tcp {

namespace {

class TcpMessages final : public TaggedMessages {
public:
    TcpMessages(Pool& pool, Mailbox& mailbox) : pool_(pool), mailbox_(mailbox) {}

    void open(std::weak_ptr<Listener> listener) override {
        pool_.open_tagged(mailbox_, std::move(listener));
    }
    void collect(std::vector<Event>& events) override { pool_.collect(mailbox_, events); }
    TaggedPost& send(void* owner, int peer, int tag, uint32_t type, ConstBytes data) override {
        return pool_.send_tagged(mailbox_, owner, peer, Slot::tagged(tag, type), data);
    }
    bool stop(TaggedPost& send) noexcept override {
        return pool_.stop_tagged(mailbox_, static_cast<Post&>(send));
    }
    Taken take(TaggedArrival& arrival, void* owner, Bytes into) override {
        return pool_.take_tagged(mailbox_, static_cast<Arrival&>(arrival), owner, into);
    }
    bool refuse(TaggedArrival& arrival) noexcept override {
        return pool_.refuse_tagged(mailbox_, static_cast<Arrival&>(arrival));
    }
    void drop(TaggedArrival& arrival) noexcept override {
        pool_.drop_tagged(mailbox_, static_cast<Arrival&>(arrival));
    }
    void expect(int receives) noexcept override { pool_.expect(receives); }
    void flush() noexcept override { pool_.flush_tagged(); }

private:
    Pool& pool_;
    Mailbox& mailbox_;
};

class TcpChannel final : public Channel {
public:
    TcpChannel(std::shared_ptr<Pool> pool, Membership& membership, const Deadline& deadline)
        : Channel(membership),
          pool_(std::move(pool)),
          mailbox_(pool_->attach(membership, deadline)),
          messages_(*pool_, mailbox_) {}
    ~TcpChannel() override {
        TcpChannel::abort({TUTTI_ERR_ABORTED, -1, 0, "the group was destroyed"});
        pool_->detach(mailbox_);
    }

    [[nodiscard]] const char* name() const override { return "tcp"; }
    [[nodiscard]] Driver* driver() const override { return &pool_->driver(); }
    [[nodiscard]] TaggedMessages* tagged() override { return &messages_; }

    void post_send(Transfer& transfer, int peer, Slot slot, const void* data,
                   size_t bytes) override {
        pool_->send(mailbox_, transfer, peer, slot, data, bytes);
    }
    void post_receive(Transfer& transfer, int peer, Slot slot, void* data, size_t bytes) override {
        pool_->receive(mailbox_, transfer, peer, slot, data, bytes);
    }
    void post_receive_any(Transfer& transfer, Slot slot, void* data, size_t bytes) override {
        pool_->receive(mailbox_, transfer, -1, slot, data, bytes);
    }
    void flush(int peer) noexcept override { pool_->flush(mailbox_, peer); }
    void take_back(int peer, Slot slot) noexcept override {
        pool_->take_back(mailbox_, peer, slot);
    }
    void abort(const Status& status) noexcept override { pool_->abort(mailbox_, status); }
    void abort_messages(const Status& status) noexcept override {
        pool_->abort_messages(mailbox_, status);
    }
    void left(int peer) noexcept override { pool_->left(mailbox_, peer); }
    void leave() noexcept override { pool_->leave(mailbox_); }

private:
    const std::shared_ptr<Pool> pool_;
    Mailbox& mailbox_;
    TcpMessages messages_;
};

}  // namespace

std::unique_ptr<Channel> open(Membership& membership, const Deadline& deadline) {
    return std::make_unique<TcpChannel>(membership.world().resource<Pool>(), membership, deadline);
}

}  // namespace tutti::tcp
