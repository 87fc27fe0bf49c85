// A send: done when the announcement, and the data if they travel alone, have gone. Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "announcement.hpp"
#include "backend/call/message.hpp"
#include "backend/channel.hpp"
#include "base/deadline.hpp"
#include "point_to_point.hpp"

namespace tutti {

class Sending : public TransferListener, public std::enable_shared_from_this<Sending> {
public:
    Sending(std::shared_ptr<PointToPoint> engine, const Send& send, std::shared_ptr<Work> work)
        : call(send), engine_(std::move(engine)), work_(std::move(work)) {}

    // To this rank itself.
    [[nodiscard]] bool is_local() const;
    void set_alarm(const Deadline& deadline);
    void post(uint64_t number);
    void transfer_done(Transfer& transfer) noexcept override;

    // For a message to oneself: true for the one who may read the data; finish_claimed() follows.
    bool claim() noexcept { return !finished_.exchange(true); }
    void finish_claimed(const Status& status) noexcept;
    void finish(const Status& status) noexcept;

    const Send call;

private:
    [[nodiscard]] bool has_body() const;
    void conclude() noexcept TUTTI_REQUIRES(posting_);
    void time_out() noexcept;
    bool stop(Transfer& transfer) noexcept TUTTI_REQUIRES(posting_);
    void withdraw() noexcept TUTTI_REQUIRES(posting_);

    const std::shared_ptr<PointToPoint> engine_;
    const std::shared_ptr<Work> work_;
    Announcement announcement_;
    Mutex posting_;                // held while posting and while withdrawing
    std::atomic<int> pending_{0};  // transfers, and the post itself
    std::atomic<bool> finished_{false};
    std::atomic<Alarm::Id> alarm_{0};
    Transfer head_;
    Transfer body_;
};

}  // namespace tutti
