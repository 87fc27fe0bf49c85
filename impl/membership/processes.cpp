#include "processes.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "address.hpp"
#include "announcements.hpp"
#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "base/log.hpp"
#include "bootstrap.hpp"
#include "coordinator.hpp"
#include "former_coordinators.hpp"
#include "heartbeat.hpp"
#include "invitation.hpp"
#include "liveness.hpp"
#include "missing_ranks.hpp"
#include "net/loop.hpp"
#include "net/socket.hpp"
#include "net/stream.hpp"
#include "options.hpp"
#include "own_coordinator.hpp"
#include "progress/event.hpp"
#include "reachable_addresses.hpp"
#include "rejoin.hpp"
#include "replay_log.hpp"
#include "roll_call.hpp"
#include "succession.hpp"
#include "unreached.hpp"

namespace tutti {

namespace {

using membership::Coordinator;
using membership::Endpoint;
using membership::Frame;
using membership::Invitation;
using membership::Kind;
using membership::nobody;
using membership::Succession;

constexpr uint32_t unseen_groups = 1 << 16;  // that a coordinator may have made meanwhile
// For ranks that have not come to this coordinator: most come by themselves before the first.
constexpr int64_t first_roll_call_ms = 20;
constexpr int64_t roll_calls_ms = 250;
constexpr int64_t reply_ms = 200;    // of one rank: a host that is there refuses at once
constexpr int64_t answer_ms = 5000;  // what a coordinator may take to say who is missing, or lost

class ProcessWorld : public World {
public:
    ProcessWorld(std::shared_ptr<Store> store, int rank, int size)
        : World(rank, size),
          loop_(net::Loop::shared()),
          store_(std::move(store)),
          heartbeat_(membership::Heartbeat::from_environment()),
          rejoin_(*loop_),
          roll_call_(*loop_, reply_ms),
          former_(*loop_, std::clamp(heartbeat_.timeout_ms, reply_ms, answer_ms),
                  hooks_of_former()),
          own_(loop_, heartbeat_, rank, size),
          succession_(rank, size) {}

    ~ProcessWorld() override {
        end_resources();
        // The coordinator, this one or the next, knows that this rank has left.
        announcements_.await_bye_ack(Deadline::after_ms(leave_ms()));
        loop_->run([this] { succession_.end(); });
        rejoin_.join();
        await_members();
        loop_->run([this] {
            roll_calls_.reset();
            former_.clear();
        });
        roll_call_.join();
        former_.join();
        if (has_published_) membership::withdraw_invitation(*store_, invitation_);
        loop_->run([this] {
            ticks_.reset();
            liveness_.reset();
            stream_.reset();
            is_muted() ? own_.leave() : own_.abandon();
        });
    }

    // Returns when the coordinator has been reached: rank 0, or the one that is known.
    void join(const std::optional<Invitation>& authenticated, const Deadline& deadline) {
        const membership::JoiningRank caller{*store_, rank(), size(), addresses_.host()};
        if (rank() == 0 && !authenticated) {
            invitation_ = own_.open(addresses_, *store_);
            loop_->run([this] { obey_the_others(); });
            membership::publish_invitation(caller, invitation_, deadline);
            has_published_ = true;
        }
        membership::Rank0Connection found = find_coordinator(caller, authenticated, deadline);
        invitation_ = std::move(found.invitation);
        addresses_.connected(invitation_, found.socket);
        log(LogLevel::Info, "control: rank ", rank(), " of ", size(), " reaches ",
            membership::name_of_coordinator(invitation_.rank), " at ",
            net::endpoint_text(found.socket.remote_address(), invitation_.port), " from ",
            found.socket.local_address());
        if (rank() != invitation_.rank) {
            try {
                own_.listen(addresses_);
            } catch (...) {
                if (!authenticated) membership::tell_rank_0(caller, invitation_, current_status());
                throw;
            }
        }
        loop_->run([&] {
            succession_.met(invitation_.rank, invitation_.host);
            liveness_ = std::make_unique<membership::Liveness>(
                *loop_, heartbeat_, rank(),
                membership::Liveness::Hooks{
                    [this](const std::string& frame) {
                        if (stream_) stream_->write(frame);
                    },
                    [this](int rank) { return is_gone(rank); },
                    [this](const Status& why) { on_coordinator_silent(why); }});
            adopt_connection(found.socket.release());
        });
    }

    // Returns when all have come.
    void exchange_endpoints(const std::string& options, const Deadline& deadline) {
        try {
            endpoint_ = {membership::without_interfaces(addresses_.own()),
                         rank() == invitation_.rank ? invitation_.port : own_.port(),
                         addresses_.host(), options};
            loop_->run([this] { liveness_->describe(endpoint_); });
            await_all(deadline);
        } catch (...) {  // the ranks that are there learn it
            Status cause = current_status();
            if (cause.rank < 0) cause.rank = rank();
            cause.message = cat("rank ", rank(), " gave up: ", cause.message);
            loop_->run([&] { send_now(membership::encode(Kind::Report, 0, {cause})); });
            throw;
        }
        std::vector<std::string> of_ranks;
        for (const Endpoint& endpoint : announcements_.endpoints())
            of_ranks.push_back(endpoint.options);
        membership::compare_options(of_ranks);  // first: others may have left because of them
        if (const auto failure = announcements_.failure(); !failure.ok()) {
            throw Error(failure.cause);
        }
    }

    [[nodiscard]] std::string identity() const override {
        return membership::hex(invitation_.token);
    }
    [[nodiscard]] bool same_host(int rank) const override {
        return announcements_.host_of(rank) == addresses_.host();
    }

    [[nodiscard]] Routes routes() const override {
        const auto ports = net::port_range();
        return {membership::listening_at(addresses_.own()),
                addresses_.of(announcements_.endpoints(), rank()), ports ? ports->first : 0,
                ports ? ports->last : 0};
    }

    void send(std::string frame) noexcept override {
        loop_->post([this, frame = std::move(frame)] { send_now(frame); });
    }
    void suspect(const Status& suspicion) noexcept override {
        send(membership::encode(Kind::Suspect, suspicion));
    }
    void expect_debugger(bool expects) noexcept override {
        loop_->post([this, expects] {
            if (liveness_) liveness_->expect_debugger(expects);
        });
    }
    void leave() noexcept override {
        announcements_.said_goodbye();
        loop_->post([this] {
            mute();
            if (liveness_) liveness_->end();
        });
    }
    void abandon() noexcept override {
        loop_->run([this] {
            mute();
            go_on_alone();
            liveness_.reset();
            stream_.reset();
            own_.abandon();
        });
    }

private:
    // Ranks that have come to a coordinator here learn why it goes.
    membership::Rank0Connection find_coordinator(const membership::JoiningRank& caller,
                                                 const std::optional<Invitation>& authenticated,
                                                 const Deadline& deadline) {
        try {
            return membership::find_coordinator(caller, authenticated, deadline);
        } catch (...) {
            Status cause = current_status();
            if (cause.rank < 0) cause.rank = rank();
            cause.message = cat("rank ", rank(), " gave up: ", cause.message);
            loop_->run([&] {
                if (!own_.get()) return;
                own_.get()->receive(rank(), membership::encode(Kind::Report, 0, {cause}));
            });
            throw;
        }
    }

    // Ranks that come to this one as the next coordinator hear that it leaves.
    void await_members() noexcept {
        const Deadline deadline = Deadline::after_ms(leave_ms());
        const auto have_come = std::make_shared<Event>();
        const uint32_t ticket = have_come->ticket();
        bool awaits = false;
        loop_->run([&] {
            awaits = is_muted() && own_.get() && own_.get()->awaits_members();
            if (awaits) own_.get()->when_all_have_come([have_come] { have_come->notify(); });
        });
        if (awaits) (void)have_come->wait(ticket, deadline);
    }

    // Returns when all have come or the group has failed.
    void await_all(const Deadline& deadline) {
        loop_->run([&] {
            if (stream_) stream_->write(hello());
        });
        TUTTI_FAULT_POINT("control.hello");
        const membership::JoiningRank caller{*store_, rank(), size(), addresses_.host()};
        // The others hear from rank 0 of a rank that has ended, or does not get through.
        const bool looks = rank() == 0;
        membership::CallersInVain in_vain(*store_, invitation_, size());
        const auto wait = [&](const Deadline& slice) {
            if (announcements_.await_all(slice)) return true;
            if (has_published_ && !deadline.expired()) in_vain.answer(deadline);
            return false;
        };
        if (!(looks ? membership::wait_for_ranks(caller, deadline, wait) : wait(deadline))) {
            loop_->post([this] {
                if (stream_) stream_->write(membership::encode(Kind::QueryMissing));
            });
            announcements_.await_who_is_missing(Deadline::after_ms(answer_ms));
        }
    }

    // The rest runs on the loop's thread.

    void send_now(const std::string& frame) {
        if (is_muted() && membership::frame_kind(frame) != Kind::Bye) return;
        const Kind kind = membership::frame_kind(frame);
        replay_log_.sent(frame);
        if (own_.get() && (kind == Kind::Report || kind == Kind::Open)) {
            own_.get()->receive(rank(), frame);  // its own connection might bring it too late
        } else if (succession_.is_alone()) {
            handle_locally(frame);
        } else if (stream_) {
            stream_->write(frame);
        }  // else the next coordinator gets it
    }

    // For when no coordinator is left to ask.
    void handle_locally(const std::string& bytes) {
        membership::FrameReader().feed(std::as_bytes(std::span(bytes)), [&](const Frame& frame) {
            if (frame.kind == Kind::Report) {
                const auto [group, failure] = membership::decode_failure(frame);
                on_verdict(group, failure);
            } else if (frame.kind == Kind::Suspect) {
                // A connection breaks when its rank leaves.
                const Status suspicion = membership::decode_status(frame);
                if (!has_departed(suspicion.rank)) declare_lost(suspicion);
            } else if (frame.kind == Kind::Open) {
                on_departures(membership::decode_ranks(frame).group, {});
            } else if (frame.kind == Kind::Arrive) {
                end_step_alone(membership::decode_arrival(frame));
            } else if (frame.kind == Kind::Propose) {
                decide_alone(membership::decode_proposal(frame));
            }
            return true;
        });
    }

    // A step that nobody else takes part in is complete.
    void end_step_alone(membership::StepArrival arrival) {
        if (!arrival.refusal.ok() || arrival.participants != std::vector<int>{rank()}) {
            const Status cause =
                arrival.refusal.ok() ? membership::all_others_left_error() : arrival.refusal;
            return on_step_failure(arrival.group, arrival.key, cause);
        }
        const uint32_t first_id = last_group_id_ + 1;
        last_group_id_ += arrival.new_groups;
        on_step_completed({arrival.group, std::move(arrival.key), first_id, {arrival.payload}});
    }

    // The only rank that is left agrees with itself, unless the others have gone on without it.
    void decide_alone(const membership::Proposal& proposal) {
        if (former_.hold_back(proposal)) return;
        membership::Decision decision{proposal.group, proposal.key};
        decision.members = {rank()};
        decision.payloads = {proposal.payload};
        if (const Status loss = loss_of(rank()); !loss.ok()) {
            decision.failure = membership::ruled_out_error(rank(), loss);
        }
        if (proposal.new_groups > 0) {
            decision.first_group_id = last_group_id_ + 1;
            last_group_id_ += proposal.new_groups;
        }
        on_decision(decision);
    }

    void adopt_connection(int descriptor) {
        net::Stream::Events events;
        events.data = [this](std::span<const std::byte> bytes) { read(bytes); };
        events.closed = [this](const Status& why) { on_coordinator_lost(why); };
        liveness_->adopt_connection(succession_.coordinator());
        stream_ = net::Stream::adopt(*loop_, descriptor, std::move(events));
        // From then on also between two coordinators: a rank whose timer rests looks stopped.
        if (!ticks_) {
            ticks_ = std::make_unique<net::Timer>(*loop_, [this] {
                if (liveness_) stream_ ? liveness_->tick() : liveness_->note_time();
            });
            ticks_->start(heartbeat_.interval_ms, heartbeat_.interval_ms);
        }
    }

    void read(std::span<const std::byte> bytes) {
        if (liveness_) liveness_->heard();
        succession_.heard();
        try {
            frames_.feed(bytes, [this](const Frame& frame) {
                receive(frame);
                return true;
            });
        } catch (...) {
            fail({current_status()});
        }
    }

    void receive(const Frame& frame) {
        if (liveness_ && liveness_->receive(frame)) return;
        switch (frame.kind) {
            case Kind::Roster: {
                auto roster = membership::decode_roster(frame);
                if (roster.size() != static_cast<size_t>(size())) {
                    throw Error(TUTTI_ERR_NETWORK, "the roster has not one endpoint for each rank");
                }
                if (liveness_) liveness_->begin(roster);
                return announcements_.all_have_joined(std::move(roster));
            }
            case Kind::Missing:
                return announcements_.are_missing(membership::decode_text(frame));
            case Kind::RefusedRanks:
                return announcements_.were_refused(membership::decode_text(frame));
            case Kind::Refused:
                return fail({{TUTTI_ERR_INVALID_ARGUMENT, rank(), 0,
                              cat(coordinator_name(),
                                  " refused this process: ", membership::decode_text(frame))}});
            case Kind::ByeAck:
                return announcements_.on_bye_ack();
            case Kind::RuledOut:  // with a coordinator whose process has slept, as this one
                if (liveness_ && liveness_->was_suspended_lately())
                    go_without_others(membership::decode_status(frame));
                return;
            case Kind::Closing:
                if (succession_.coordinator() != nobody)
                    on_departures(0, {succession_.coordinator()});
                return;  // the end of the connection follows
            case Kind::Verdict:
                TUTTI_FAULT_POINT("control.verdict");
                if (const auto [group, verdict] = membership::decode_failure(frame); group == 0) {
                    return fail(verdict);
                }
                break;
            default:
                break;
        }
        if (frame.kind == Kind::StepCompleted) {
            const auto completed = membership::decode_step_completed(frame);
            replay_log_.received(completed);
            last_group_id_ = std::max(last_group_id_, completed.first_group_id);
        } else if (frame.kind == Kind::StepFailed) {
            replay_log_.received(membership::decode_step_failed(frame));
        } else if (frame.kind == Kind::Decided) {
            const auto decision = membership::decode_decision(frame);
            replay_log_.received(decision);
            last_group_id_ = std::max(last_group_id_, decision.first_group_id);
        }
        handle(frame);
    }

    [[nodiscard]] std::string coordinator_name() const {
        return membership::name_of_coordinator(succession_.coordinator());
    }

    [[nodiscard]] Succession::Known known() const {
        Succession::Known all;
        all.all_have_joined = announcements_.all_are_known();
        all.is_acknowledged = announcements_.has_bye_ack();
        for (int rank = 0; rank < size(); ++rank) all.is_gone.push_back(is_gone(rank));
        all.hosts.resize(all.is_gone.size());
        const auto endpoints = announcements_.endpoints();
        for (size_t rank = 0; rank < endpoints.size(); ++rank)
            all.hosts[rank] = endpoints[rank].host;
        return all;
    }

    void on_coordinator_lost(const Status& why) {
        stream_.reset();
        has_slept_ = was_asleep() || (has_slept_ && succession_.is_unheard());
        const int before = succession_.coordinator();
        const auto decision = succession_.ended(known());
        const bool leaves_it = decision.action != Succession::Action::Nothing &&
                               decision.action != Succession::Action::Fail &&
                               !succession_.is_calling(before);
        if (leaves_it && !is_muted() && before != rank()) {
            former_.ask(before, why, !decision.lost.empty());
        }
        follow(decision, before, why, membership::death_error(before, why));
    }

    [[nodiscard]] bool was_asleep() const {
        return !is_muted() && liveness_ && liveness_->was_suspended_lately();
    }

    // Where a rank listens, as this one reaches it; empty: not known.
    [[nodiscard]] std::vector<net::Address> addresses_of_rank(int rank) const {
        const auto all = announcements_.endpoints();
        const auto place = static_cast<size_t>(rank);
        if (place >= all.size()) return {};
        return net::numeric_addresses(addresses_.of(all, this->rank())[place], all[place].port);
    }

    [[nodiscard]] std::string inquiry() const {
        return membership::encode_inquiry({invitation_.token, rank(), size()});
    }

    membership::FormerCoordinators::Hooks hooks_of_former() {
        return {.addresses = [this](int rank) { return addresses_of_rank(rank); },
                .inquiry = [this] { return inquiry(); },
                .is_ruled_out =
                    [this](const Status& why) {
                        if (is_muted()) return;
                        succession_.is_alone() ? declare_own_loss(why) : be_ruled_out(why);
                    },
                .was_asked =
                    [this](int rank, const Status& how) {
                        if (own_.get()) own_.get()->is_gone(rank, how);
                    },
                .decide = [this](const membership::Proposal& one) { decide_alone(one); }};
    }

    void on_coordinator_silent(const Status& why) {
        const int before = succession_.coordinator();
        const auto decision = succession_.fell_silent(known());
        // It reads this when it wakes, before the end of the connection.
        if (stream_ && !decision.lost.empty()) {
            stream_->write(membership::encode(Kind::Report, 0, {why}));
            stream_->write(membership::encode(Kind::RuledOut, why));
        }
        stream_.reset();
        follow(decision, before, {}, why);
    }

    void on_coordinator_missed(const Status& why) {
        if (was_asleep()) has_slept_ = true;
        const int before = succession_.coordinator();
        follow(succession_.missed(known(), why.system_errno), before, why,
               membership::death_error(before, why));
    }

    // `loss` is what is said of the coordinator before, if it is lost.
    void follow(const Succession::Decision& decision, int before, const Status& why,
                const Status& loss) {
        for (const int rank : decision.lost)
            declare_lost(rank == before ? loss : membership::is_cut_off(rank, why));
        switch (decision.action) {
            case Succession::Action::Nothing:
                return;
            case Succession::Action::Fail:
                return fail({{TUTTI_ERR_PEER_LOST, before, why.system_errno,
                              cat(membership::name_of_coordinator(before),
                                  " left before all ranks had joined")}});
            case Succession::Action::GoOnAlone:
                if (has_slept_) return be_ruled_out(membership::slept_error());
                go_on_alone();
                for (const std::string& frame : replay_log_.frames()) handle_locally(frame);
                return;
            case Succession::Action::Coordinate:
            case Succession::Action::Call:
                break;
        }
        frames_ = {};
        try {
            if (decision.action == Succession::Action::Coordinate) become_coordinator();
            call_coordinator(succession_.coordinator());
        } catch (...) {
            declare_own_lack(current_status());
        }
    }

    // No other rank is to blame, and all others are out of reach.
    void declare_own_lack(const Status& why) {
        Status lack = why;
        lack.message = cat("rank ", rank(), " cannot reach the next coordinator: ", why.message);
        declare_own_loss(lack);
        go_on_alone();
    }

    // The other ranks follow another coordinator, and take this one for lost.
    void go_without_others(const Status& why) {
        if (!is_muted() && !succession_.is_alone()) be_ruled_out(why);
    }

    void declare_own_loss(const Status& why) {
        Status loss = why;
        loss.rank = rank();
        declare_lost(loss);
    }

    void be_ruled_out(const Status& why) {
        declare_own_loss(why);
        go_on_alone();
        stream_.reset();
        if (own_.get()) own_.get()->resign(why);
        own_.abandon();
        for (const std::string& frame : replay_log_.frames()) handle_locally(frame);
    }

    // There is nobody else.
    void go_on_alone() {
        succession_.go_on_alone();
        if (ticks_) ticks_->stop();
        announcements_.on_bye_ack();
    }

    // Throws if this process lacks what it needs to find the way.
    void call_coordinator(int next) {
        rejoin_.start(addresses_of_rank(next), [this, next](int descriptor, const Status& why_not) {
            if (!liveness_ || !succession_.is_calling(next)) {
                if (descriptor >= 0) ::close(descriptor);
            } else if (why_not.code == TUTTI_ERR_OUT_OF_MEMORY) {
                declare_own_lack(why_not);
            } else if (descriptor < 0) {
                on_coordinator_missed(why_not);
            } else {
                succession_.reached();
                adopt_connection(descriptor);
                stream_->write(hello());
                repeat_all();
            }
        });
    }

    // Whatever this rank knows and the next coordinator may not.
    void repeat_all() {
        if (liveness_) liveness_->repeat_pause();
        for (const auto& [rank, loss] : losses()) {
            if (!former_.awaits(rank)) stream_->write(membership::encode(Kind::Lost, loss));
        }
        for (const std::string& frame : replay_log_.frames()) stream_->write(frame);
        stream_->write(membership::encode(Kind::Replayed));
    }

    void become_coordinator() {
        Coordinator::State state;
        state.losses = losses();
        std::erase_if(state.losses, [this](const auto& one) { return former_.awaits(one.first); });
        state.first_group_id = last_group_id_ + unseen_groups;
        for (int rank = 0; rank < size(); ++rank) {
            if (has_departed(rank)) state.left.insert(rank);
        }
        state.endpoints = announcements_.endpoints();
        state.verdict = announcements_.failure();
        state.has_slept = has_slept_;
        if (liveness_) state.paused = liveness_->paused();
        own_.follow(invitation_.token, state);
        obey_the_others();
        roll_calls_ = std::make_unique<net::Timer>(*loop_, [this] { call_the_roll(); });
        roll_calls_->start(first_roll_call_ms, roll_calls_ms);
    }

    void obey_the_others() {
        own_.get()->when_ruled_out([this](const Status& why) { go_without_others(why); });
    }

    void call_the_roll() {
        const auto ranks = own_.get() ? own_.get()->awaited() : std::vector<int>{};
        if (ranks.empty()) return roll_calls_->stop();
        const auto all = announcements_.endpoints();
        const auto routes = addresses_.of(all, rank());
        std::vector<membership::RollCall::Awaited> awaited;
        for (const int rank : ranks) {
            const auto place = static_cast<size_t>(rank);
            awaited.push_back({rank, net::numeric_addresses(routes[place], all[place].port)});
        }
        roll_call_.start(std::move(awaited), inquiry(),
                         {.is_gone =
                              [this](int rank, const Status& why) {
                                  if (own_.get()) own_.get()->is_gone(rank, why);
                              },
                          .is_ruled_out = [this](const Status& why) { go_without_others(why); }});
    }

    [[nodiscard]] std::string hello() const {
        return membership::encode(
            membership::Hello{invitation_.token, rank(), size(), endpoint_, has_slept_});
    }

    void declare_lost(const Status& loss) {
        fail({loss});
        on_loss(loss);
    }

    // The first group cannot go on.
    void fail(const membership::Failure& failure) {
        announcements_.failed(failure);
        if (!is_muted()) on_verdict(0, failure);
    }

    const std::shared_ptr<net::Loop> loop_;
    const std::shared_ptr<Store> store_;
    membership::ReachableAddresses addresses_;
    const membership::Heartbeat heartbeat_;
    Invitation invitation_;       // of the first coordinator
    bool has_published_ = false;  // the store has it from this rank

    membership::Announcements announcements_;
    membership::Rejoin rejoin_;
    membership::RollCall roll_call_;
    membership::FormerCoordinators former_;
    membership::OwnCoordinator own_;

    Succession succession_;
    // loop thread only, once all have come
    Endpoint endpoint_;
    uint32_t last_group_id_ = 0;  // of a new group, that this rank has heard of
    membership::ReplayLog replay_log_;
    bool has_slept_ = false;  // this process, when the coordinator went
    membership::FrameReader frames_;
    std::unique_ptr<membership::Liveness> liveness_;
    std::unique_ptr<net::Timer> ticks_;
    std::unique_ptr<net::Timer> roll_calls_;
    std::unique_ptr<net::Stream> stream_;
};

std::shared_ptr<World> meet(const std::optional<Invitation>& coordinator,
                            const std::shared_ptr<Store>& store, int rank, int size,
                            const std::string& options, const Deadline& deadline) {
    auto world = std::make_shared<ProcessWorld>(store, rank, size);
    world->join(coordinator, deadline);
    world->exchange_endpoints(options, deadline);
    return world;
}

}  // namespace

std::shared_ptr<World> bootstrap_processes(const std::shared_ptr<Store>& store, int rank, int size,
                                           const std::string& options, const Deadline& deadline) {
    return meet({}, store, rank, size, options, deadline);
}

std::shared_ptr<World> meet_through(const Invitation& coordinator,
                                    const std::shared_ptr<Store>& store, int rank, int size,
                                    const std::string& options, const Deadline& deadline) {
    return meet(coordinator, store, rank, size, options, deadline);
}

}  // namespace tutti
