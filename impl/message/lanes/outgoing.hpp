// The transfers of a send: the announcement, and the data if they travel alone. The send ends when
// both are done. Any thread; order of locks: this one's, then that of the Messages.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/bytes.hpp"
#include "base/mutex.hpp"
#include "channel_transfer.hpp"
#include "lanes.hpp"
#include "message/operation.hpp"
#include "transport/channel.hpp"

namespace tutti::message {

class Outgoing : public std::enable_shared_from_this<Outgoing> {
public:
    // `sequence` counts the messages to its receiver.
    Outgoing(const std::shared_ptr<Lanes>& lanes, Sending& message, uint64_t sequence);

    // Posts it, and those that are chained to it.
    void post() noexcept;
    // The same thread posts `next` behind this one; both before post().
    void chain(std::shared_ptr<Outgoing> next) { next_ = std::move(next); }
    // Behind another one to that rank, in the same chain: both may leave together.
    void follow(Outgoing& before);
    // Ends the send with that, if nothing of it has moved; else it goes on.
    void time_out(const Status& status) noexcept;

private:
    class Part final : public ChannelTransfer {
    public:
        Part(Outgoing& whole, std::shared_ptr<Lanes> lanes, Slot slot, ConstBytes data)
            : ChannelTransfer(std::move(lanes)), whole_(whole), slot_(slot), data_(data) {}
        using ChannelTransfer::precede_another;

    private:
        void post_to(Channel& channel, Transfer& transfer) override {
            channel.post_send(transfer, whole_.destination_, slot_, data_.data(), data_.size());
        }
        void end() noexcept override { whole_.end_part(*this, transfer()); }
        std::shared_ptr<ChannelTransfer> keep() override {
            return {whole_.shared_from_this(), this};
        }

        Outgoing& whole_;
        const Slot slot_;
        const ConstBytes data_;
    };
    // False: its last part was not posted.
    bool post_parts() noexcept;
    void end_part(const Part& part, const Transfer& transfer) noexcept;
    // So many parts have ended.
    void settle(int parts, const Status& status) noexcept;

    const std::shared_ptr<Lanes> lanes_;
    const int destination_;
    std::shared_ptr<Outgoing> next_;
    bool follows_ = false;
    Mutex posting_;  // held while posting and while stopping
    bool is_posted_ TUTTI_GUARDED_BY(posting_) = false;
    bool is_late_ TUTTI_GUARDED_BY(posting_) = false;
    Status late_;  // how it ends if it comes back; set before that is asked for
    // Under the lock of the Messages.
    Sending* message_;  // null: it has ended
    int left_ = 1;      // parts
    Status status_;
    std::unique_ptr<std::byte[]> announcement_;  // its header, and data if they are short
    std::optional<Part> head_;
    std::optional<Part> body_;  // if it is a part of its own
};

}  // namespace tutti::message
