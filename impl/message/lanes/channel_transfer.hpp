// Transfers of the channel, each from its post until the channel has released it. Any thread; posts
// and withdrawals happen without the lock of the Messages.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "lanes.hpp"
#include "message/operation.hpp"
#include "transport/channel.hpp"

namespace tutti::message {

// The head of a message, and its data if they are short. Little endian, as it is.
struct Announcement {
    struct Header {
        int64_t count;      // elements
        uint64_t sequence;  // of the slot of the data, if they do not follow here
        uint32_t dtype;
        Content content;
        uint64_t reserved;
    };
    static constexpr size_t eager_bytes = size_t{16} * 1024;

    Header header;
    std::array<std::byte, eager_bytes> data;

    // Bytes of the data that follow in the announcement.
    static size_t eager(size_t bytes) { return bytes <= eager_bytes ? bytes : 0; }
};

class ChannelTransfer : public TransferListener {
public:
    explicit ChannelTransfer(std::shared_ptr<Lanes> lanes) : lanes_(std::move(lanes)) {}

    // False: it could not be posted, and has ended with the reason.
    bool post() noexcept;
    // Takes back a send. True: no data have moved, and none will; end() is not called.
    bool stop() noexcept;
    void transfer_done(Transfer& transfer) noexcept override;

protected:
    virtual void post_to(Channel& channel, Transfer& transfer) = 0;
    // The transfer has arrived: called in the order of arrival.
    virtual void come() noexcept {}
    // The channel has released it.
    virtual void end() noexcept = 0;
    // Keeps this one alive.
    virtual std::shared_ptr<ChannelTransfer> keep() = 0;

    [[nodiscard]] const Transfer& transfer() const { return transfer_; }
    void precede_another() { transfer_.is_followed = true; }
    [[nodiscard]] Lanes& lanes() const { return *lanes_; }

private:
    void leave() noexcept;  // when the post has returned and the transfer is done
    void withdraw() noexcept TUTTI_REQUIRES(mutex_);

    Mutex mutex_;                   // for withdrawals
    std::shared_ptr<Lanes> lanes_;  // until it has ended
    std::optional<Lanes::Use> use_;
    std::atomic<int> pending_{2};
    Transfer transfer_;
};

// An announcement that has been asked for.
class Listening final : public ChannelTransfer, public std::enable_shared_from_this<Listening> {
public:
    Listening(std::shared_ptr<Lanes> lanes, int source, int tag)
        : ChannelTransfer(std::move(lanes)), source_(source), tag_(tag) {
        announcement_.header = {};
    }

    [[nodiscard]] int source() const { return source_; }
    [[nodiscard]] int tag() const { return tag_; }
    // After its arrival.
    [[nodiscard]] const Announcement& announcement() const { return announcement_; }
    using ChannelTransfer::transfer;

private:
    void post_to(Channel& channel, Transfer& transfer) override;
    void come() noexcept override { lanes().announced(shared_from_this()); }
    void end() noexcept override {}
    std::shared_ptr<ChannelTransfer> keep() override { return shared_from_this(); }

    const int source_;
    const int tag_;
    Announcement announcement_;
};

// The data of a message that a receive has taken. Without a receive they are received as nothing.
class Payload final : public ChannelTransfer, public std::enable_shared_from_this<Payload> {
public:
    Payload(std::shared_ptr<Lanes> lanes, Receiving* receiving, int source, uint64_t sequence)
        : ChannelTransfer(std::move(lanes)),
          receiving_(receiving),
          source_(source),
          sequence_(sequence) {}

private:
    void post_to(Channel& channel, Transfer& transfer) override;
    void end() noexcept override;
    std::shared_ptr<ChannelTransfer> keep() override { return shared_from_this(); }

    Receiving* const receiving_;  // until it ends
    const int source_;
    const uint64_t sequence_;
};

}  // namespace tutti::message
