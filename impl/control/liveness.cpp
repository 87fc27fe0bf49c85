#include "liveness.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "absence.hpp"
#include "address.hpp"
#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "coordinator.hpp"
#include "heartbeat.hpp"
#include "invitation.hpp"
#include "meeting.hpp"
#include "net/interfaces.hpp"
#include "net/loop.hpp"
#include "net/socket.hpp"
#include "net/stream.hpp"

namespace tutti {

namespace {

using control::Frame;
using control::Invitation;
using control::Kind;
using control::Seat;

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
          host_(net::host_identity()),
          heartbeat_(control::Heartbeat::from_environment()),
          events_(std::move(events)),
          pulse_(heartbeat_) {}

    ~Member() override {
        if (invited_) control::withdraw_invitation(*store_, invitation_);
        loop_->run([this] {
            ticks_.reset();
            stream_.reset();
            coordinator_.reset();
        });
    }

    void join(const Deadline& deadline) {
        chosen_ = control::addresses_by_environment();
        const control::Caller caller{*store_, rank_, size_, host_};
        if (rank_ == 0) {
            invitation_ = open_house();
            control::leave_invitation(caller, invitation_, deadline);
            invited_ = true;
        }
        control::Found found = control::find_rank_0(caller, deadline);
        invitation_ = std::move(found.invitation);
        local_ = found.socket.local_address();
        way_to_rank_0_ = found.socket.remote_address();
        log(LogLevel::Info, "control: rank ", rank_, " of ", size_, " reaches rank 0 at ",
            net::endpoint_text(way_to_rank_0_, invitation_.port), " from ", local_);
        loop_->run([&] { attend(found.socket.release()); });
    }

    [[nodiscard]] std::vector<std::string> listening_at() const override {
        return control::listening_at(addresses());
    }
    [[nodiscard]] std::string identity() const override { return control::hex(invitation_.token); }

    std::vector<Seat> gather(Seat mine, const Deadline& deadline) override {
        mine.host = host_;
        mine.addresses = control::without_interfaces(addresses());
        const control::Hello hello{invitation_.token, rank_, size_, std::move(mine)};
        loop_->run([&] {
            if (stream_) stream_->write(control::encode(hello));
        });
        TUTTI_FAULT_POINT("control.hello");
        if (!all_have_come(deadline)) ask_who_is_missing();
        return seen_from_here(roster());
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
        const auto own = chosen_ ? *chosen_ : addresses_by_store();
        Invitation invitation;
        invitation.token = control::random_token();
        invitation.host = host_;
        invitation.addresses = control::without_interfaces(own);
        auto sockets = net::ListenSocket::bind_each(control::listening_at(own), backlog);
        invitation.port = sockets.front().port();
        std::vector<int> descriptors;
        for (auto& socket : sockets) descriptors.push_back(socket.release());
        loop_->run([&] {
            coordinator_ = std::make_unique<control::Coordinator>(
                *loop_, std::move(descriptors), size_, invitation.token, heartbeat_);
        });
        return invitation;
    }

    [[nodiscard]] std::vector<std::string> addresses_by_store() const {
        const auto local = store_->local_address();
        if (store_->only_this_host() && local) return {*local};
        auto addresses = control::addresses_by_way(local);
        // The others may reach the store by another address of its name, if it is on this host.
        const auto own = net::addresses_of_this_host();
        for (const auto& one : store_->remote_addresses()) {
            const auto is_in = [&one](const std::vector<std::string>& list) {
                return std::ranges::find(list, one) != list.end();
            };
            if (is_in(own) && !is_in(addresses) && !control::is_loopback(one)) {
                addresses.push_back(one);
            }
        }
        return addresses;
    }

    // Where this rank is reached: like rank 0 if it is on the same host.
    [[nodiscard]] std::vector<std::string> addresses() const {
        if (chosen_) return *chosen_;
        if (host_ == invitation_.host) return invitation_.addresses;
        return control::addresses_by_way(local_);
    }

    std::vector<Seat> seen_from_here(std::vector<Seat> seats) const {
        const auto own = net::addresses_of_this_host();
        for (size_t peer = 0; peer < seats.size(); ++peer) {
            Seat& seat = seats[peer];
            control::View view{.same_host = seat.host == host_,
                               .way = seat.host == invitation_.host ? way_to_rank_0_ : "",
                               .usual_way = way_to_rank_0_,
                               .own = own};
            seat.addresses = control::seen_from_here(seat.addresses, view);
            if (!chosen_ || seat.addresses.empty()) continue;
            // The connections between ranks use all the interfaces that are named.
            const size_t higher = std::max(peer, static_cast<size_t>(rank_));
            const size_t turn = higher % seat.addresses.size();
            std::rotate(seat.addresses.begin(),
                        seat.addresses.begin() + static_cast<std::ptrdiff_t>(turn),
                        seat.addresses.end());
        }
        return seats;
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
        throw control::have_not_come(who, refused_);
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

    void attend(int descriptor) {
        net::Stream::Events events;
        events.data = [this](std::span<const std::byte> bytes) { hear(bytes); };
        events.closed = [this](const Status& why) { lose_coordinator(why); };
        heard_ = control::Pulse::Clock::now();
        stream_ = net::Stream::adopt(*loop_, descriptor, std::move(events));
        ticks_ = std::make_unique<net::Timer>(*loop_, [this] { tick(); });
        ticks_->start(heartbeat_.interval_ms, heartbeat_.interval_ms);
    }

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
            case Kind::Turned: {
                const Lock lock(mutex_);
                refused_ = control::decode_text(frame);
                return;
            }
            case Kind::Refused:
                return fail({TUTTI_ERR_INVALID_ARGUMENT, rank_, 0,
                             cat("rank 0 refused this process: ", control::decode_text(frame))});
            case Kind::Verdict:
                TUTTI_FAULT_POINT("control.verdict");
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

    const std::shared_ptr<net::Loop> loop_;
    const std::shared_ptr<Store> store_;
    const int rank_;
    const int size_;
    const std::string host_;
    const control::Heartbeat heartbeat_;
    const Events events_;
    std::optional<std::vector<std::string>> chosen_;  // own addresses, by the environment
    Invitation invitation_;                           // of this group's rank 0
    bool invited_ = false;                            // the store has it from this rank
    std::string local_;                               // of the connection to rank 0
    std::string way_to_rank_0_;

    Mutex mutex_;
    Condition changed_;
    std::optional<std::vector<Seat>> roster_ TUTTI_GUARDED_BY(mutex_);
    std::optional<Status> failure_ TUTTI_GUARDED_BY(mutex_);
    std::optional<std::string> missing_ TUTTI_GUARDED_BY(mutex_);
    std::string refused_ TUTTI_GUARDED_BY(mutex_);

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
