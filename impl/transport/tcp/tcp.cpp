#include "tcp.hpp"

#include <utility>

#include "pool.hpp"

namespace tutti::tcp {

namespace {

class TcpChannel final : public Channel {
public:
    TcpChannel(std::shared_ptr<Pool> pool, Membership& membership, const Deadline& deadline)
        : Channel(membership),
          pool_(std::move(pool)),
          mailbox_(pool_->attach(membership, deadline)) {}
    ~TcpChannel() override {
        TcpChannel::abort({TUTTI_ERR_ABORTED, -1, 0, "the group was destroyed"});
        pool_->detach(mailbox_);
    }

    [[nodiscard]] const char* name() const override { return "tcp"; }
    [[nodiscard]] Driver* driver() const override { return &pool_->driver(); }

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
};

}  // namespace

std::unique_ptr<Channel> open(Membership& membership, const Deadline& deadline) {
    return std::make_unique<TcpChannel>(membership.world().resource<Pool>(), membership, deadline);
}

}  // namespace tutti::tcp
