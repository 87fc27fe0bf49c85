#include "processes.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "absence.hpp"
#include "address.hpp"
#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/thread.hpp"
#include "coordinator.hpp"
#include "heartbeat.hpp"
#include "invitation.hpp"
#include "meeting.hpp"
#include "net/loop.hpp"
#include "net/socket.hpp"
#include "net/stream.hpp"
#include "options.hpp"
#include "unsettled.hpp"
#include "whereabouts.hpp"

namespace tutti {

namespace {

using membership::Coordinator;
using membership::Frame;
using membership::Invitation;
using membership::Kind;
using membership::Seat;

constexpr int backlog = 4096;
constexpr int64_t rejoin_ms = 3000;           // what a way to the next coordinator may take
constexpr uint32_t unheard_groups = 1 << 16;  // that a coordinator may have made meanwhile
constexpr int64_t farewell_ms = 2000;  // what it may take that others know that this rank left
constexpr int64_t answer_ms = 1000;    // what the coordinator may take to say who is missing

// A coordinator whose rank has left stays until the others have.
void linger(std::shared_ptr<net::Loop> loop, std::unique_ptr<Coordinator> coordinator) {
    struct Rest {
        std::shared_ptr<net::Loop> loop;
        std::unique_ptr<Coordinator> coordinator;
    };
    auto rest = std::make_shared<Rest>(Rest{std::move(loop), std::move(coordinator)});
    Coordinator& there = *rest->coordinator;
    there.when_all_left([rest = std::move(rest)]() mutable {
        rest->coordinator.reset();
        // A loop is not ended on its own thread.
        start_thread("tutti-ending", [loop = std::move(rest->loop)]() mutable {
            loop.reset();
        }).detach();
    });
}

class ProcessWorld : public World {
public:
    ProcessWorld(std::shared_ptr<Store> store, int rank, int size)
        : World(rank, size),
          loop_(net::Loop::shared()),
          store_(std::move(store)),
          heartbeat_(membership::Heartbeat::from_environment()),
          pulse_(heartbeat_) {}

    ~ProcessWorld() override {
        end_resources();
        await_farewell();
        loop_->run([this] { is_ending_ = true; });
        if (std::thread rejoining = take_rejoining(); rejoining.joinable()) rejoining.join();
        await_members();
        if (invited_) membership::withdraw_invitation(*store_, invitation_);
        loop_->run([this] {
            ticks_.reset();
            stream_.reset();
            if (!coordinator_) return;
            if (left_) {
                coordinator_->close_door();
                coordinator_->depart(rank());
                if (coordinator_->has_members()) return linger(loop_, std::move(coordinator_));
            }
            coordinator_.reset();
        });
    }

    // Returns when the coordinator has been reached.
    void join(const Deadline& deadline) {
        const membership::Caller caller{*store_, rank(), size(), whereabouts_.host()};
        if (rank() == 0) {
            invitation_ = open_house();
            membership::leave_invitation(caller, invitation_, deadline);
            invited_ = true;
        }
        membership::Found found = membership::find_rank_0(caller, deadline);
        invitation_ = std::move(found.invitation);
        whereabouts_.arrived(invitation_, found.socket);
        log(LogLevel::Info, "control: rank ", rank(), " of ", size(), " reaches rank 0 at ",
            net::endpoint_text(found.socket.remote_address(), invitation_.port), " from ",
            found.socket.local_address());
        if (rank() != 0) {
            door_ =
                net::ListenSocket::bind_each(membership::listening_at(whereabouts_.own()), backlog);
        }
        loop_->run([&] { attend(found.socket.release()); });
    }

    // Returns when all have come.
    void gather(const std::string& options, const Deadline& deadline) {
        seat_ = {membership::without_interfaces(whereabouts_.own()),
                 door_.empty() ? invitation_.port : door_.front().port(), whereabouts_.host(),
                 options};
        try {
            await_all(deadline);
        } catch (...) {  // those who have come hear of it
            Status cause = current_status();
            if (cause.rank < 0) cause.rank = rank();
            cause.message = cat("rank ", rank(), " gave up: ", cause.message);
            loop_->run([&] { say(membership::encode(Kind::Report, 0, cause)); });
            throw;
        }
        const Lock lock(mutex_);
        std::vector<std::string> of_ranks;
        if (roster_) {
            for (const Seat& seat : *roster_) of_ranks.push_back(seat.options);
        }
        membership::compare_options(of_ranks);  // first: others may have left because of them
        if (failure_) throw Error(*failure_);
    }

    [[nodiscard]] std::string identity() const override {
        return membership::hex(invitation_.token);
    }
    [[nodiscard]] bool same_host(int rank) const override {
        const Lock lock(mutex_);
        return (*roster_)[static_cast<size_t>(rank)].host == whereabouts_.host();
    }

    [[nodiscard]] Routes routes() const override {
        return {membership::listening_at(whereabouts_.own()), whereabouts_.of(seats(), rank())};
    }

    void tell(std::string frame) noexcept override {
        loop_->post([this, frame = std::move(frame)] { say(frame); });
    }
    void suspect(const Status& suspicion) noexcept override {
        tell(membership::encode(Kind::Suspect, suspicion));
    }
    void leave() noexcept override {
        {
            const Lock lock(mutex_);
            has_said_goodbye_ = true;
        }
        loop_->post([this] { left_ = true; });
    }
    void abandon() noexcept override {
        loop_->run([this] {
            left_ = true;  // it hears nothing more
            stop_watching();
            stream_.reset();
            coordinator_.reset();
        });
    }

private:
    // Whoever coordinates, this one or the next, knows that this rank has left.
    void await_farewell() noexcept {
        const Deadline deadline = Deadline::after_ms(farewell_ms);
        Lock lock(mutex_);
        while (roster_ && has_said_goodbye_ && !has_farewell_ && changed_.wait(lock, deadline)) {
        }
    }

    // Those who come to this rank as the next coordinator hear that it leaves.
    void await_members() noexcept {
        const Deadline deadline = Deadline::after_ms(farewell_ms);
        for (bool awaits = true; awaits && !deadline.expired();) {
            loop_->run([&] { awaits = coordinator_ && left_ && coordinator_->awaits_members(); });
            if (awaits) ::poll(nullptr, 0, 1);
        }
    }

    void end_wait_for_farewell() {
        const Lock lock(mutex_);
        has_farewell_ = true;
        changed_.notify_all();
    }

    // Rank 0: the coordinator opens its door.
    Invitation open_house() {
        const auto own = whereabouts_.of_rank_0(*store_);
        Invitation invitation;
        invitation.token = membership::random_token();
        invitation.host = whereabouts_.host();
        invitation.addresses = membership::without_interfaces(own);
        auto sockets = net::ListenSocket::bind_each(membership::listening_at(own), backlog);
        invitation.port = sockets.front().port();
        std::vector<int> descriptors;
        for (auto& socket : sockets) descriptors.push_back(socket.release());
        loop_->run([&] {
            coordinator_ = std::make_unique<membership::Coordinator>(
                *loop_, std::move(descriptors), rank(), size(), invitation.token, heartbeat_);
        });
        return invitation;
    }

    [[nodiscard]] std::vector<Seat> seats() const {
        const Lock lock(mutex_);
        return *roster_;
    }

    // Returns when all have come or the group has failed.
    void await_all(const Deadline& deadline) {
        loop_->run([&] {
            if (stream_) stream_->write(hello());
        });
        TUTTI_FAULT_POINT("control.hello");
        if (!all_have_come(deadline)) ask_who_is_missing();
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
            if (stream_) stream_->write(membership::encode(Kind::Who));
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
        throw membership::have_not_come(who, refused_);
    }

    // The rest runs on the loop's thread.

    void say(const std::string& frame) {
        if (left_ && membership::frame_kind(frame) != Kind::Bye) return;
        const bool reports = membership::frame_kind(frame) == Kind::Report;
        unsettled_.said(frame);
        if (coordinator_ && reports) {
            coordinator_->hear(rank(), frame);  // what it told itself it might read too late
        } else if (unwatched_) {
            answer_myself(frame);
        } else if (stream_) {
            stream_->write(frame);
        }  // else it is said to the next coordinator
    }

    // Nobody is left to ask.
    void answer_myself(const std::string& bytes) {
        membership::FrameReader().feed(std::as_bytes(std::span(bytes)), [&](const Frame& frame) {
            if (frame.kind == Kind::Report) {
                const auto [group, cause] = membership::decode_group_status(frame);
                hear_verdict(group, cause);
            } else if (frame.kind == Kind::Suspect) {
                lose(membership::decode_status(frame));
            } else if (frame.kind == Kind::Come) {
                const auto come = membership::decode_come(frame);
                hear_failure(come.group, come.key, membership::all_others_have_left());
            }
            return true;
        });
    }

    void attend(int descriptor) {
        net::Stream::Events events;
        events.data = [this](std::span<const std::byte> bytes) { read(bytes); };
        events.closed = [this](const Status& why) { lose_coordinator(why); };
        heard_ = membership::Pulse::Clock::now();
        stream_ = net::Stream::adopt(*loop_, descriptor, std::move(events));
        ticks_ = std::make_unique<net::Timer>(*loop_, [this] { tick(); });
        ticks_->start(heartbeat_.interval_ms, heartbeat_.interval_ms);
    }

    void read(std::span<const std::byte> bytes) {
        heard_ = membership::Pulse::Clock::now();
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
                auto roster = membership::decode_roster(frame);
                const Lock lock(mutex_);
                roster_ = std::move(roster);
                changed_.notify_all();
                return;
            }
            case Kind::Missing: {
                const Lock lock(mutex_);
                missing_ = membership::decode_text(frame);
                changed_.notify_all();
                return;
            }
            case Kind::Turned: {
                const Lock lock(mutex_);
                refused_ = membership::decode_text(frame);
                return;
            }
            case Kind::Refused:
                return fail({TUTTI_ERR_INVALID_ARGUMENT, rank(), 0,
                             cat("rank 0 refused this process: ", membership::decode_text(frame))});
            case Kind::Farewell:
                return end_wait_for_farewell();
            case Kind::Closing:
                hear_departures(0, {coordinating_});
                return;  // the end of the connection follows
            case Kind::Verdict:
                TUTTI_FAULT_POINT("control.verdict");
                if (const auto [group, verdict] = membership::decode_group_status(frame);
                    group == 0) {
                    return fail(verdict);
                }
                break;
            default:
                break;
        }
        if (frame.kind == Kind::Gathered) {
            const auto gathered = membership::decode_gathered(frame);
            unsettled_.heard(gathered);
            last_number_ = std::max(last_number_, gathered.first_number);
        } else if (frame.kind == Kind::Failed) {
            unsettled_.heard(membership::decode_failed(frame));
        }
        if (!left_) hear(frame);
    }

    [[nodiscard]] bool all_ranks_are_known() const {
        const Lock lock(mutex_);
        return roster_.has_value();
    }

    // Its rank has left or died.
    void lose_coordinator(const Status& why) {
        stream_.reset();
        ticks_.reset();
        if (unwatched_ || is_ending_ || has_heard_farewell()) return;
        if (!all_ranks_are_known()) {
            return fail({TUTTI_ERR_PEER_LOST, coordinating_, why.system_errno,
                         cat("rank ", coordinating_, " left before all ranks had come")});
        }
        if (!has_departed(coordinating_)) {
            lose(membership::has_died(coordinating_, why));
        }
        succeed();
    }

    [[nodiscard]] bool is_gone(int rank) const { return has_departed(rank) || !loss_of(rank).ok(); }

    [[nodiscard]] bool has_heard_farewell() const {
        const Lock lock(mutex_);
        return has_farewell_;
    }

    // There is nobody else.
    void stop_watching() {
        unwatched_ = true;
        end_wait_for_farewell();
    }

    // The lowest rank that is left coordinates from now on: all ranks find the same one.
    void succeed() {
        frames_ = {};
        int next = 0;
        int others = 0;
        while (next < size() && is_gone(next)) ++next;
        for (int one = 0; one < size(); ++one) others += one != rank() && !is_gone(one) ? 1 : 0;
        if (others == 0 || is_gone(rank())) {
            stop_watching();
            for (const std::string& frame : unsettled_.frames()) answer_myself(frame);
            return;
        }
        coordinating_ = next;
        if (next == rank()) begin_to_coordinate();
        const auto all = seats();
        const auto place = static_cast<size_t>(next);
        auto ways = net::numeric_addresses(whereabouts_.of(all, rank())[place], all[place].port);
        std::thread before = take_rejoining();
        if (before.joinable()) before.join();  // it ends in no more than rejoin_ms
        try {
            const Lock lock(mutex_);
            rejoining_ = start_thread("tutti-rejoin", [this, next, ways] { rejoin(next, ways); });
        } catch (...) {
            log(LogLevel::Warning, "control: ", current_status().message);
            rejoin(next, ways);  // here, then, though all else waits
        }
    }

    void begin_to_coordinate() {
        std::vector<int> descriptors;
        for (auto& socket : door_) descriptors.push_back(socket.release());
        door_.clear();
        coordinator_ = std::make_unique<Coordinator>(*loop_, std::move(descriptors), rank(), size(),
                                                     invitation_.token, heartbeat_);
        Coordinator::Inheritance inheritance;
        inheritance.losses = losses();
        inheritance.first_number = last_number_ + unheard_groups;
        for (int rank = 0; rank < size(); ++rank) {
            if (has_departed(rank)) inheritance.left.insert(rank);
        }
        {
            const Lock lock(mutex_);
            inheritance.seats = *roster_;
            inheritance.verdict = failure_.value_or(Status{});
        }
        coordinator_->inherit(inheritance);
    }

    // On a thread of its own.
    void rejoin(int next, const std::vector<net::Address>& ways) noexcept {
        try {
            // Its door was open before ranks knew of each other: who refuses is gone.
            net::Socket socket = net::Socket::connect_once(ways, Deadline::after_ms(rejoin_ms));
            const int descriptor = socket.release();
            loop_->post([this, next, descriptor] {
                if (next != coordinating_) {
                    ::close(descriptor);
                    return;
                }
                attend(descriptor);
                stream_->write(hello());
                for (const std::string& frame : unsettled_.frames()) stream_->write(frame);
            });
        } catch (...) {
            loop_->post([this, next, why = current_status()] {
                if (next == coordinating_) lose_coordinator(why);
            });
        }
    }

    std::thread take_rejoining() {
        const Lock lock(mutex_);
        return std::move(rejoining_);
    }

    [[nodiscard]] std::string hello() const {
        return membership::encode(membership::Hello{invitation_.token, rank(), size(), seat_});
    }

    void tick() {
        if (stream_) stream_->write(membership::encode(Kind::Ping));
        if (pulse_.overslept()) {
            heard_ = membership::Pulse::Clock::now();
        } else if (pulse_.too_silent(heard_)) {
            if (!has_departed(coordinating_)) {
                const Status silence = membership::is_silent(coordinating_, heartbeat_.limit_ms);
                // It reads this when it wakes, before the end of the connection.
                if (stream_) stream_->write(membership::encode(Kind::Report, 0, silence));
                lose(silence);
            }
            lose_coordinator({});
        }
    }

    void lose(const Status& loss) {
        fail(loss);
        if (!left_) hear_loss(loss);
    }

    // The first group cannot go on.
    void fail(const Status& status) {
        {
            const Lock lock(mutex_);
            if (failure_) return;
            failure_ = status;
            changed_.notify_all();
        }
        if (!left_) hear_verdict(0, status);
    }

    const std::shared_ptr<net::Loop> loop_;
    const std::shared_ptr<Store> store_;
    membership::Whereabouts whereabouts_;
    const membership::Heartbeat heartbeat_;
    Invitation invitation_;  // of this group's rank 0
    bool invited_ = false;   // the store has it from this rank

    mutable Mutex mutex_;
    Condition changed_;
    std::optional<std::vector<Seat>> roster_ TUTTI_GUARDED_BY(mutex_);
    std::optional<Status> failure_ TUTTI_GUARDED_BY(mutex_);
    std::optional<std::string> missing_ TUTTI_GUARDED_BY(mutex_);
    std::string refused_ TUTTI_GUARDED_BY(mutex_);

    std::thread rejoining_ TUTTI_GUARDED_BY(mutex_);
    bool has_said_goodbye_ TUTTI_GUARDED_BY(mutex_) = false;
    bool has_farewell_ TUTTI_GUARDED_BY(mutex_) = false;

    // loop thread only, once all have come
    std::vector<net::ListenSocket> door_;  // where this rank would coordinate
    Seat seat_;
    int coordinating_ = 0;      // the rank that does
    uint32_t last_number_ = 0;  // of a new group, that this rank has heard of
    membership::Unsettled unsettled_;
    bool left_ = false;
    bool unwatched_ = false;  // there is nobody else
    bool is_ending_ = false;
    membership::Pulse pulse_;
    membership::Pulse::Clock::time_point heard_;
    membership::FrameReader frames_;
    std::unique_ptr<net::Timer> ticks_;
    std::unique_ptr<net::Stream> stream_;
    std::unique_ptr<membership::Coordinator> coordinator_;
};

}  // namespace

std::shared_ptr<World> meet_processes(const std::shared_ptr<Store>& store, int rank, int size,
                                      const std::string& options, const Deadline& deadline) {
    auto world = std::make_shared<ProcessWorld>(store, rank, size);
    world->join(deadline);
    world->gather(options, deadline);
    return world;
}

}  // namespace tutti
