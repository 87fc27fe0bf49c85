#include "liveness.hpp"

#include <cstdlib>
#include <optional>
#include <utility>

#include "address.hpp"
#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "coordinator.hpp"
#include "heartbeat.hpp"
#include "invitation.hpp"
#include "net/loop.hpp"
#include "net/socket.hpp"
#include "net/stream.hpp"

namespace tutti {

namespace {

using control::Frame;
using control::Invitation;
using control::Kind;
using control::Seat;

const std::string invitation_key = "tutti/control";
constexpr int backlog = 1024;
constexpr int64_t answer_ms = 1000;  // what rank 0 may take to say who is missing

// The loop of all control connections of this process.
std::shared_ptr<net::Loop> shared_loop() {
    static Mutex mutex;
    static std::weak_ptr<net::Loop> current;
    const Lock lock(mutex);
    auto loop = current.lock();
    if (!loop) current = loop = std::make_shared<net::Loop>("tutti-control");
    return loop;
}

class Member : public Liveness {
public:
    Member(std::shared_ptr<Store> store, int rank, int size, Events events)
        : loop_(shared_loop()),
          store_(std::move(store)),
          rank_(rank),
          size_(size),
          heartbeat_(control::Heartbeat::from_environment()),
          events_(std::move(events)),
          pulse_(heartbeat_) {}

    ~Member() override {
        withdraw_invitation();
        loop_->run([this] {
            ticks_.reset();
            stream_.reset();
            coordinator_.reset();
        });
    }

    void join(const Deadline& deadline) {
        if (rank_ == 0) invite(deadline);
        for (;;) {
            std::string text;
            try {
                text = store_->get(invitation_key, deadline);
            } catch (const Error& error) {
                if (error.status().code != TUTTI_ERR_TIMEOUT) throw;
                throw Error(TUTTI_ERR_TIMEOUT, "timed out waiting for rank 0, which has not come",
                            0);
            }
            try {
                return call(Invitation::parse(text), deadline);
            } catch (const Error& error) {
                // It may be what an earlier group left behind, and ours may be there soon.
                if (deadline.expired() || error.status().code != TUTTI_ERR_NETWORK) throw;
            }
        }
    }

    [[nodiscard]] const std::string& address() const override { return address_; }
    [[nodiscard]] std::string identity() const override { return control::hex(token_); }
    [[nodiscard]] bool only_this_host() const override {
        return control::is_plain_loopback(way_to_rank_0_) && control::is_loopback(address_);
    }

    std::vector<Seat> gather(const Seat& mine, const Deadline& deadline) override {
        const std::string hello = control::encode(control::Hello{token_, rank_, size_, mine});
        loop_->run([&] {
            if (!stream_) return;
            stream_->write(hello);
            ticks_->start(heartbeat_.interval_ms, heartbeat_.interval_ms);
        });
        TUTTI_FAULT_POINT("control.hello");
        if (!all_have_come(deadline)) ask_who_is_missing();
        std::vector<Seat> seats = roster();
        withdraw_invitation();
        for (Seat& seat : seats) {
            seat.address = control::seen_from_here(seat.address, way_to_rank_0_);
        }
        return seats;
    }

    void suspect(int rank, const std::string& reason) noexcept override {
        tell(Kind::Suspect, {TUTTI_ERR_PEER_LOST, rank, 0, reason});
    }
    void report(const Status& cause) noexcept override { tell(Kind::Report, cause); }
    void stalled(const control::Stall& stall) noexcept override {
        loop_->post([this, stall] {
            if (stream_) stream_->write(control::encode(stall));
        });
    }
    void leave() noexcept override {
        loop_->post([this] {
            left_ = true;
            if (stream_) stream_->write(control::encode(Kind::Bye));
        });
    }

private:
    // Rank 0: the coordinator opens its door.
    Invitation open_house() {
        Invitation invitation;
        invitation.token = control::random_token();
        invitation.addresses = control::candidates(*store_);
        const bool narrow = invitation.addresses.size() == 1;
        const std::string where = narrow ? invitation.addresses.front() : "";
        auto socket = net::ListenSocket::bind(where, 0, backlog);
        invitation.port = socket.port();
        loop_->run([&] {
            coordinator_ = std::make_unique<control::Coordinator>(
                *loop_, std::vector<int>{socket.release()}, size_, invitation.token, heartbeat_);
        });
        return invitation;
    }

    void invite(const Deadline& deadline) {
        const std::string mine = open_house().text();
        invited_ = store_->compare_set(invitation_key, "", mine, deadline) == mine;
        if (invited_) {
            // PyTorch's server without libuv wakes nobody for a compare_set, only for a set.
            store_->set(invitation_key, mine, deadline);
            return;
        }
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    "another process has come as rank 0 before, or was killed as it met the others "
                    "at this store",
                    0);
    }

    // The next group on this store shall not take it for its own.
    void withdraw_invitation() {
        if (!std::exchange(invited_, false)) return;
        try {
            store_->delete_key(invitation_key, Deadline::after_ms(answer_ms));
        } catch (const Error& error) {
            log(LogLevel::Debug, "control: ", error.what());
        }
    }

    void call(const Invitation& invitation, const Deadline& deadline) {
        net::Socket socket = reach(invitation, deadline);
        token_ = invitation.token;
        address_ = socket.local_address();
        way_to_rank_0_ = socket.remote_address();
        loop_->run([&] {
            net::Stream::Events events;
            events.data = [this](std::span<const std::byte> bytes) { hear(bytes); };
            events.closed = [this](const Status& why) { lose_coordinator(why); };
            heard_ = control::Pulse::Clock::now();
            stream_ = net::Stream::adopt(*loop_, socket.release(), std::move(events));
            ticks_ = std::make_unique<net::Timer>(*loop_, [this] { tick(); });
        });
    }

    // The first address that answers.
    net::Socket reach(const Invitation& invitation, const Deadline& deadline) {
        const std::string way_to_store = store_->remote_address().value_or("");
        std::string reasons;
        for (const std::string& given : invitation.addresses) {
            const std::string address =
                way_to_store.empty() ? given : control::seen_from_here(given, way_to_store);
            try {
                return net::Socket::connect({address, invitation.port},
                                            deadline.or_earlier(Deadline::after_ms(attempt_ms)));
            } catch (const Error& error) {
                reasons += cat(reasons.empty() ? "" : "; ", error.status().message);
            }
        }
        throw Error(TUTTI_ERR_NETWORK, cat("cannot reach rank 0: ", reasons), 0);
    }

    std::vector<Seat> roster() {
        const Lock lock(mutex_);
        if (failure_) throw Error(*failure_);
        return *roster_;
    }

    // False if the deadline passed before all came or the group failed.
    bool all_have_come(const Deadline& deadline) {
        Lock lock(mutex_);
        while (!roster_ && !failure_) {
            if (!changed_.wait(lock, deadline)) return roster_ || failure_;
        }
        return true;
    }

    // Throws, unless they come meanwhile.
    void ask_who_is_missing() {
        loop_->post([this] {
            if (stream_) stream_->write(control::encode(Kind::Who));
        });
        const Deadline answer = Deadline::after_ms(answer_ms);
        Lock lock(mutex_);
        while (!missing_ && !roster_ && !failure_ && changed_.wait(lock, answer)) {
        }
        if (roster_ || failure_) return;
        const std::string who = missing_.value_or("");
        if (who.empty()) {
            throw Error(TUTTI_ERR_TIMEOUT, "timed out waiting for all ranks to come");
        }
        const bool several = who.find(',') != std::string::npos;
        throw Error(TUTTI_ERR_TIMEOUT,
                    cat("timed out waiting for rank", several ? "s " : " ", who,
                        several ? ", which have not come" : ", which has not come"),
                    static_cast<int>(std::strtol(who.c_str(), nullptr, 10)));
    }

    void tell(Kind kind, Status status) noexcept {
        loop_->post([this, kind, status = std::move(status)] {
            if (left_) return;
            if (coordinator_ && kind == Kind::Report) {
                coordinator_->decide(status);  // what it told itself it might read too late
            } else if (stream_ && !unwatched_) {
                stream_->write(control::encode(kind, status));
            } else {  // nobody is left to ask
                fail(status);
                if (kind == Kind::Suspect) lose(status);
            }
        });
    }

    // The rest runs on the loop's thread.

    void hear(std::span<const std::byte> bytes) {
        heard_ = control::Pulse::Clock::now();
        try {
            frames_.feed(bytes, [this](const Frame& frame) {
                understand(frame);
                return true;
            });
        } catch (...) {
            fail(current_status());
        }
    }

    void understand(const Frame& frame) {
        switch (frame.kind) {
            case Kind::Roster: {
                auto roster = control::decode_roster(frame);
                const Lock lock(mutex_);
                roster_ = std::move(roster);
                changed_.notify_all();
                return;
            }
            case Kind::Missing: {
                const Lock lock(mutex_);
                missing_ = control::decode_text(frame);
                changed_.notify_all();
                return;
            }
            case Kind::Refused:
                return fail({TUTTI_ERR_INVALID_ARGUMENT, rank_, 0,
                             cat("rank 0 refused this process: ", control::decode_text(frame))});
            case Kind::Verdict:
                return fail(control::decode_status(frame));
            case Kind::Lost:
                return lose(control::decode_status(frame));
            case Kind::Left:
                if (events_.left) events_.left(control::decode_rank(frame));
                return;
            case Kind::Closing:
                unwatched_ = true;
                ticks_->stop();
                if (events_.left) events_.left(0);
                return;
            default:
                return;  // a ping has been heard
        }
    }

    void lose_coordinator(const Status& why) {
        stream_.reset();
        ticks_->stop();
        if (unwatched_) return;
        const Status loss{TUTTI_ERR_PEER_LOST, 0, why.system_errno,
                          cat("rank 0 died (", why.message, ")")};
        fail(loss);
        lose(loss);
    }

    void tick() {
        if (stream_) stream_->write(control::encode(Kind::Ping));
        if (pulse_.overslept()) {
            heard_ = control::Pulse::Clock::now();
        } else if (pulse_.too_silent(heard_)) {
            const Status loss{TUTTI_ERR_PEER_LOST, 0, 0,
                              cat("rank 0 has not answered for ", heartbeat_.limit_ms,
                                  " ms (stopped or cut off)")};
            fail(loss);
            lose(loss);
        }
    }

    void fail(const Status& status) {
        {
            const Lock lock(mutex_);
            if (failure_) return;
            failure_ = status;
            changed_.notify_all();
        }
        if (!left_ && events_.failed) events_.failed(status);
    }

    void lose(const Status& loss) {
        if (!left_ && events_.lost) events_.lost(loss);
    }

    static constexpr int64_t attempt_ms = 2000;

    const std::shared_ptr<net::Loop> loop_;
    const std::shared_ptr<Store> store_;
    const int rank_;
    const int size_;
    const control::Heartbeat heartbeat_;
    const Events events_;
    control::Token token_{};
    std::string address_;
    std::string way_to_rank_0_;
    bool invited_ = false;  // the store has this rank's invitation

    Mutex mutex_;
    Condition changed_;
    std::optional<std::vector<Seat>> roster_ TUTTI_GUARDED_BY(mutex_);
    std::optional<Status> failure_ TUTTI_GUARDED_BY(mutex_);
    std::optional<std::string> missing_ TUTTI_GUARDED_BY(mutex_);

    // loop thread only
    bool left_ = false;
    bool unwatched_ = false;
    control::Pulse pulse_;
    control::Pulse::Clock::time_point heard_;
    control::FrameReader frames_;
    std::unique_ptr<net::Timer> ticks_;
    std::unique_ptr<net::Stream> stream_;
    std::unique_ptr<control::Coordinator> coordinator_;
};

}  // namespace

std::unique_ptr<Liveness> Liveness::join(const std::shared_ptr<Store>& store, int rank, int size,
                                         const Deadline& deadline, Events events) {
    auto member = std::make_unique<Member>(store, rank, size, std::move(events));
    member->join(deadline);
    return member;
}

}  // namespace tutti
