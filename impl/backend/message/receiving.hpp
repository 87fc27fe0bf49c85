// A receive: waits in its lane, then perhaps for the data. Any thread.
#pragma once

#include <atomic>
#include <memory>
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
    [[nodiscard]] bool accepts(int from) const;

    enum class Taken { Yes, ReceiverGone, MessageGone };
    Taken take(const Arrival& arrival);

    void transfer_done(Transfer& transfer) noexcept override;
    void finish(const Status& status) noexcept;

    const Receive call;

private:
    void copy(const void* data);
    Taken take_local(Sending& message) TUTTI_REQUIRES(posting_);
    Taken take_remote(const Listening& message) TUTTI_REQUIRES(posting_);
    void receive_body(uint64_t number) TUTTI_REQUIRES(posting_);
    [[nodiscard]] bool fits(int64_t count, tutti_dtype dtype) const;
    [[nodiscard]] Status misfit(int64_t count, tutti_dtype dtype) const;
    [[nodiscard]] Status timed_out(const char* for_what) const;
    void conclude() noexcept TUTTI_REQUIRES(posting_);
    void withdraw() noexcept TUTTI_REQUIRES(posting_);
    void time_out() noexcept;

    const std::shared_ptr<PointToPoint> engine_;
    const std::shared_ptr<Work> work_;
    Mutex posting_;  // held while taking a message and while giving up
    bool given_up_ TUTTI_GUARDED_BY(posting_) = false;
    std::atomic<int> source_{-1};
    std::atomic<int> pending_{0};  // the transfer, and the post itself
    std::atomic<bool> finished_{false};
    std::atomic<Alarm::Id> alarm_{0};
    Transfer body_;
};

}  // namespace tutti
