// A receive: waits in its lane, then perhaps for the data. Once it has a message only the end of
// the data ends it. Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "backend/call/message.hpp"
#include "backend/channel.hpp"
#include "base/deadline.hpp"
#include "point_to_point.hpp"

namespace tutti {

class Receiving : public TransferListener, public std::enable_shared_from_this<Receiving> {
public:
    Receiving(std::shared_ptr<PointToPoint> engine, const Receive& receive,
              std::shared_ptr<Work> work)
        : call(receive), engine_(std::move(engine)), work_(std::move(work)) {}

    void set_alarm(const Deadline& deadline);

    // Back: the sender has taken the message back before its data moved; it counts as never sent.
    enum class Taken { Yes, Back };
    Taken take(const Arrival& arrival);

    void transfer_done(Transfer& transfer) noexcept override;
    void finish(const Status& status) noexcept;

    const Receive call;
    // The engine's, under its lock.
    uint64_t turn = 0;
    bool is_late = false;

private:
    void take_local(Sending& message);
    Taken take_remote(const Listening& message);
    // Where the data go; why they cannot.
    [[nodiscard]] Status make_room(Content content, int64_t count, tutti_dtype dtype) noexcept;
    void copy(const void* data);
    Taken receive_body(uint64_t number);
    Taken conclude() noexcept;
    void withdraw() noexcept;
    void time_out() noexcept;

    const std::shared_ptr<PointToPoint> engine_;
    const std::shared_ptr<Work> work_;
    int source_ = -1;
    std::span<std::byte> room_;    // for the data
    std::atomic<int> pending_{0};  // the transfer, and the post itself
    std::atomic<bool> finished_{false};
    std::atomic<Alarm::Id> alarm_{0};
    std::optional<Transfer> body_;
};

}  // namespace tutti
