#include "coordinator.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "missing_ranks.hpp"

namespace tutti::membership {

namespace {

// A death or a departure must explain a broken connection within this time, and before its rank
// says that it is still here, or it is the failure itself.
constexpr int64_t suspicion_grace_ms = 500;
constexpr int64_t rejoin_grace_ms = 5000;
// The time that a caller has to say who it is, while others wait to be told of a lack.
constexpr auto introduction = std::chrono::milliseconds(1000);
constexpr int64_t departures_ms = 1;  // collects departures for one frame
constexpr size_t max_queue = 64 * 1024 * 1024;
constexpr size_t max_refused = 4;  // that errors name
constexpr size_t max_stranger_frame = 64 * 1024;

// After two, what had come before the first has been read from all connections.
constexpr uint64_t ticks_to_read = 2;

}  // namespace

Coordinator::Coordinator(net::Loop& loop, std::vector<int> listening, int own_rank, int size,
                         const Token& token, const Heartbeat& heartbeat)
    : loop_(loop),
      own_rank_(own_rank),
      size_(size),
      token_(token),
      heartbeat_(heartbeat),
      endpoints_(static_cast<size_t>(size)),
      members_(static_cast<size_t>(size)),
      arbiter_(size, [this](int rank, const std::string& frame) { send(rank, frame); }),
      coverage_(size, own_rank),
      heartbeat_clock_(heartbeat),
      ticks_(loop, [this] { tick(); }),
      suspicion_grace_(loop, [this] { confirm_suspicion(); }),
      departures_(loop, [this] { flush_departures(); }),
      rejoin_grace_(loop, [this] { declare_absent_lost(); }),
      listener_(
          std::in_place, loop, std::move(listening), [this](int descriptor) { accept(descriptor); },
          [this](const Status& exhaustion) { return make_room(exhaustion); }) {
    ticks_.start(heartbeat.interval_ms, heartbeat.interval_ms);
    keep_spare();
}

void Coordinator::restore(const State& state) {
    is_successor_ = true;
    has_slept_ = state.has_slept;
    if (has_slept_) heartbeat_clock_.take_over_suspension();
    for (size_t rank = 0; rank < state.endpoints.size(); ++rank) {
        endpoints_[rank] = state.endpoints[rank];
    }
    for (const int rank : state.paused) pauses_.set(rank, rank, true);
    arbiter_.restore(state.left, state.losses, state.verdict, state.first_group_id);
    rejoin_grace_.start(std::max(rejoin_grace_ms, heartbeat_.timeout_ms));
}

void Coordinator::declare_absent_lost() {
    bool is_any_paused = false;
    for (const int rank : arbiter_.awaited()) {
        if (pauses_.contains(rank)) {
            is_any_paused = true;
            continue;
        }
        declare_lost({TUTTI_ERR_PEER_LOST, rank, 0,
                      cat("rank ", rank, " has not connected to the new coordinator")});
    }
    if (is_any_paused) rejoin_grace_.start(std::max(rejoin_grace_ms, heartbeat_.timeout_ms));
}

// The rank of this process included.
bool Coordinator::have_all_slept(int but) const {
    for (int rank = 0; rank < size_; ++rank) {
        if (rank == but || rank == own_rank_) continue;
        if (arbiter_.has_left(rank) || arbiter_.is_lost(rank)) continue;
        const Connection* const one = members_[static_cast<size_t>(rank)];
        if (one == nullptr || !one->has_slept) return false;
    }
    return true;
}

// They have gone on without those that slept, and ended.
void Coordinator::obey_those_that_were_awake() {
    loop_.post([act = ruled_out_] { act(slept_error()); });
}

// Those that are still to come may have gone on without this process meanwhile.
void Coordinator::note_sleep() {
    if (awaits_members() && heartbeat_clock_.was_suspended_lately()) has_slept_ = true;
}

void Coordinator::is_gone(int rank, const Status& why) {
    note_sleep();
    const auto still = awaited();
    if (std::ranges::find(still, rank) != still.end()) declare_lost(death_error(rank, why));
}

// A rank that comes, leaves or is lost may have been the last that was awaited; if so, nobody has
// gone on without this process.
void Coordinator::note_arrivals() {
    if (!awaits_members()) has_slept_ = false;
    if (all_have_come_ && !awaits_members()) std::exchange(all_have_come_, nullptr)();
}

Coordinator::~Coordinator() {
    tell_departures();
    if (arbiter_.is_decided()) tell_who_was_joining();
    broadcast(encode(Kind::Closing));
}

// Ranks of this group that have been welcomed, and are about to say where they are.
void Coordinator::tell_who_was_joining() {
    const std::string verdict = encode(Kind::Verdict, 0, arbiter_.verdict());
    for (const auto& [id, connection] : connections_) {
        const bool joins = connection->rank < 0 && connection->authenticated && !connection->waits;
        if (joins) connection->stream->write(verdict);
    }
}

void Coordinator::receive(int rank, const std::string& bytes) {
    FrameReader().feed(std::as_bytes(std::span(bytes)), [&](const Frame& frame) {
        arbiter_.handle(rank, frame);
        return true;
    });
}

void Coordinator::depart(int rank) {
    receive(rank, encode(Kind::Bye, 0, std::vector<int>{}));
    clear_suspicions(rank);
    tell_departures();
}

void Coordinator::stop_accepting() {
    listener_.reset();
    std::erase_if(connections_, [](const auto& entry) { return entry.second->rank < 0; });
}

void Coordinator::accept(int descriptor) {
    auto connection = std::make_unique<Connection>();
    const int id = connection->id = ++last_id_;
    connection->accepted = connection->last_received = Clock::now();
    connection->frames.allow(max_stranger_frame);
    net::Stream::Events events;
    events.data = [this, id](std::span<const std::byte> bytes) {
        Connection* const from = find(id);
        if (from == nullptr) return;
        from->last_received = Clock::now();
        try {
            from->frames.feed(bytes, [&](const Frame& frame) { return handle(*from, frame); });
        } catch (...) {
            drop(id, current_status());
        }
    };
    events.closed = [this, id](const Status& why) { drop(id, why); };
    connection->stream = net::Stream::adopt(loop_, descriptor, std::move(events));
    connections_[id] = std::move(connection);
    if (const auto oldest = strangers_.add(id)) connections_.erase(*oldest);
}

void Coordinator::keep_spare() noexcept {
    if (spare_.valid()) return;
    spare_ = net::Descriptor(open_tracked([] { return ::open("/", O_PATH | O_CLOEXEC); }));
}

// No descriptor is left for a new connection: the oldest unauthenticated one is closed, if there is
// one; else the group is over, and who still comes is told so.
bool Coordinator::make_room(const Status& exhaustion) {
    if (lack_) return make_room_to_tell();
    if (const auto oldest = strangers_.take_oldest()) {
        connections_.erase(*oldest);
        return true;
    }
    if (arbiter_.awaited().empty()) return false;
    Status cause = exhaustion;  // it may be one of them
    cause.rank = own_rank_;
    cause.message =
        cat(own_name(), " cannot accept the connections of the others: ", exhaustion.message);
    arbiter_.decide(cause);
    lack_ = cause;
    return make_room_to_tell();
}

// For one at a time, which gets its answer when it has said who it is.
bool Coordinator::make_room_to_tell() {
    if (spare_.valid()) {
        spare_.reset();
        return true;
    }
    const auto oldest = strangers_.oldest();
    const Connection* const stranger = oldest ? find(*oldest) : nullptr;
    if (stranger == nullptr || Clock::now() - stranger->accepted < introduction) return false;
    drop(*oldest, {TUTTI_ERR_NETWORK, -1, 0, "it did not say who it is"});
    return true;
}

Coordinator::Connection* Coordinator::find(int id) {
    const auto found = connections_.find(id);
    return found == connections_.end() ? nullptr : found->second.get();
}

Coordinator::Connection* Coordinator::member(int rank) {
    return rank < 0 || rank >= size_ ? nullptr : members_[static_cast<size_t>(rank)];
}

// False when the connection is gone.
bool Coordinator::handle(Connection& connection, const Frame& frame) {
    if (connection.rank < 0) return join(connection, frame);
    switch (frame.kind) {
        case Kind::Suspect:
            suspect(connection.rank, decode_status(frame));
            return true;
        case Kind::Ask:
            connection.stream->write(encode(Kind::Ping));
            return true;
        case Kind::RuledOut:
            if (ruled_out_ && heartbeat_clock_.was_suspended_lately()) {
                // This coordinator may end by it, but not in here.
                loop_.post([act = ruled_out_, why = decode_status(frame)] { act(why); });
            }
            return true;
        case Kind::Lost:
            take_over(connection, decode_status(frame));
            return true;
        case Kind::Here:
            ++connection.answers;
            return true;
        case Kind::Watch:
            coverage_.set_watched(connection.rank, decode_watch(frame));
            return true;
        case Kind::Seen:
            believe(connection.rank, decode_status(frame));
            return true;
        case Kind::Paused:
        case Kind::Resumed:
            note_pause(connection.rank, decode_rank(frame), frame.kind == Kind::Paused);
            return true;
        case Kind::QueryMissing:
            if (!refused_.empty()) connection.stream->write(encode(Kind::RefusedRanks, refused()));
            connection.stream->write(encode(Kind::Missing, missing()));
            return true;
        case Kind::Bye:
            arbiter_.handle(connection.rank, frame);
            if (arbiter_.has_left(connection.rank)) {
                clear_suspicions(connection.rank);
                forget_pauses(connection.rank);
                leaving_.push_back(connection.rank);
            }
            departures_.start(departures_ms, 0);
            return true;
        default:
            arbiter_.handle(connection.rank, frame);
            return true;  // pings have been noted; kinds of later versions may be ignored
    }
}

// The previous coordinator said so to some ranks: all are to know the same.
void Coordinator::take_over(const Connection& connection, const Status& loss) {
    const bool is_news = loss.rank >= 0 && loss.rank < size_ && !arbiter_.has_left(loss.rank) &&
                         !arbiter_.is_lost(loss.rank);
    if (is_successor_ && is_news && loss.rank != connection.rank) declare_lost(loss);
}

void Coordinator::tell_departures() {
    arbiter_.announce_departures();
    coverage_.note_change();
    note_arrivals();
    for (const int rank : std::exchange(leaving_, {})) send(rank, encode(Kind::ByeAck));
}

// Once for all departures in that time: ranks that end together all leave.
void Coordinator::flush_departures() {
    tell_departures();
    if (!has_members() && all_left_) std::exchange(all_left_, nullptr)();
}

// False when the connection is gone.
bool Coordinator::authenticate(Connection& connection, const Token& token, int rank, int size) {
    if (token != token_) {
        drop(connection.id, {TUTTI_ERR_NETWORK, -1, 0, "unauthenticated"});
        return false;
    }
    if (size != size_ || rank < 0 || rank >= size_) {
        const auto who = cat("rank ", rank, " of ", size);
        refuse(connection, who,
               cat("it says ", who, ", and ", own_name(), " says ", size_, " ranks"));
        return false;
    }
    return true;
}

// A second process of a rank is refused, unless the first has left, or the group has failed: then
// it waits for the next group on this store, and looks for that when this coordinator is gone.
bool Coordinator::answer(Connection& connection, const Handshake& handshake) {
    if (!authenticate(connection, handshake.token, handshake.rank, handshake.size)) return false;
    connection.authenticated = true;
    if (lack_) {
        connection.stream->write(encode(Kind::Verdict, 0, {*lack_}));
        drop(connection.id, *lack_);
        return false;
    }
    if (!endpoints_[static_cast<size_t>(handshake.rank)]) {
        strangers_.remove(connection.id);  // a rank of this group that is closed takes it as lost
        connection.stream->write(encode(Kind::Welcome));
        return true;
    }
    const Connection* const holder = member(handshake.rank);
    if (holder != nullptr && !arbiter_.has_left(handshake.rank) && !arbiter_.is_decided()) {
        refuse_duplicate(connection, handshake.rank);
        return false;
    }
    connection.waits = handshake.rank != 0;
    if (!connection.waits)
        drop(connection.id, {TUTTI_ERR_NETWORK, 0, 0, "rank 0 of the next group has connected"});
    return connection.waits;
}

bool Coordinator::join(Connection& connection, const Frame& frame) {
    if (frame.kind == Kind::Handshake) return answer(connection, decode_handshake(frame));
    if (frame.kind == Kind::Ping && connection.authenticated) return true;
    if (frame.kind == Kind::Inquire) return answer_inquiry(connection, decode_inquiry(frame));
    const Hello hello = decode_hello(frame);
    if (!authenticate(connection, hello.token, hello.rank, hello.size)) return false;
    auto& endpoint = endpoints_[static_cast<size_t>(hello.rank)];
    if (!is_successor_ && endpoint.has_value()) {
        refuse_duplicate(connection, hello.rank);
        return false;
    }
    if (const Connection* const before = member(hello.rank)) {  // which has ended on its side only
        drop(before->id, {TUTTI_ERR_NETWORK, hello.rank, 0, "it has connected again"});
    }
    connection.rank = hello.rank;
    connection.has_slept = hello.has_slept;
    connection.frames.allow(max_frame);
    strangers_.remove(connection.id);
    members_[static_cast<size_t>(hello.rank)] = &connection;
    endpoint = hello.endpoint;
    arbiter_.enter(hello.rank);
    note_pause(hello.rank, hello.rank, false);  // it says so again, if it still is
    for (const int rank : pauses_.all()) send(hello.rank, encode(Kind::Paused, rank));
    if (is_successor_ && own_rank_ != nobody && !pauses_.contains(own_rank_)) {
        send(hello.rank, encode(Kind::Resumed, own_rank_));
    }
    if (!hello.has_slept && hello.rank != own_rank_) has_slept_ = false;
    if (has_slept_ && has_missed_ && ruled_out_ && have_all_slept(nobody)) {
        obey_those_that_were_awake();
    }
    for (Suspicion& suspicion : suspicions_) {
        if (suspicion.why.rank == hello.rank) doubt(suspicion);
    }
    coverage_.note_change();
    note_arrivals();
    if (!is_successor_ &&
        std::ranges::all_of(endpoints_, [](const auto& one) { return one.has_value(); })) {
        std::vector<Endpoint> roster;
        for (const auto& one : endpoints_) roster.push_back(*one);
        broadcast(encode(roster));
    }
    return true;
}

// From a rank that coordinates, or would, and finds that others have not come to it.
bool Coordinator::answer_inquiry(Connection& connection, const Handshake& inquiry) {
    if (!authenticate(connection, inquiry.token, inquiry.rank, inquiry.size)) return false;
    connection.authenticated = true;
    connection.asks_of = inquiry.rank;
    answer_inquiries(inquiry.rank);
    return true;
}

// The end of that rank's own connection may be noticed after its inquiry.
void Coordinator::answer_inquiries(int rank) {
    const auto loss = arbiter_.losses().find(rank);
    if (loss == arbiter_.losses().end()) return;
    for (const auto& [id, connection] : connections_) {
        if (connection->asks_of == rank)
            connection->stream->write(encode(Kind::RuledOut, loss->second));
    }
}

// A refused process learns it at once; ranks that wait for it learn it at their deadline.
void Coordinator::refuse(Connection& connection, const std::string& who,
                         const std::string& reason) {
    std::erase(refused_, who);
    if (refused_.size() == max_refused) refused_.erase(refused_.begin());
    refused_.push_back(who);
    connection.stream->write(encode(Kind::Refused, reason));
    drop(connection.id, {TUTTI_ERR_NETWORK, -1, 0, reason});
}

void Coordinator::refuse_duplicate(Connection& connection, int rank) {
    refuse(connection, cat("a second rank ", rank),
           cat("another process has already joined as rank ", rank));
}

void Coordinator::drop(int id, const Status& why) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) return;
    auto connection = std::move(found->second);
    connections_.erase(found);
    strangers_.remove(id);
    if (connection->rank >= 0) members_[static_cast<size_t>(connection->rank)] = nullptr;
    if (connection->rank < 0) {
        log(connection->authenticated ? LogLevel::Debug : LogLevel::Warning,
            "control: a connection ended before it joined: ", why.message);
    } else if (!arbiter_.has_left(connection->rank)) {
        declare_lost(death_error(connection->rank, why));
    }
    connection.reset();
    if (lack_) keep_spare();
}

// It may be said again before that rank has come to a coordinator that follows. A rank that is lost
// finds that its connections break; that accuses nobody.
void Coordinator::suspect(int of, const Status& suspicion) {
    const int rank = suspicion.rank;
    if (rank < 0 || rank >= size_ || arbiter_.has_left(rank) || arbiter_.is_lost(rank)) return;
    if (arbiter_.is_lost(of)) return;
    if (suspicions_.empty()) suspicion_grace_.start(suspicion_grace_ms);
    suspicions_.push_back({suspicion, of});
    doubt(suspicions_.back());
}

// Its goodbye may be on its way still, or it may be stopped: its answer comes behind that.
void Coordinator::doubt(Suspicion& suspicion) {
    Connection* const connection = member(suspicion.why.rank);
    if (connection == nullptr) return;
    suspicion.doubt = ++connection->doubts;
    send(connection->rank, encode(Kind::Doubt));
}

bool Coordinator::is_answered(const Suspicion& suspicion) {
    const Connection* const connection = member(suspicion.why.rank);
    return connection != nullptr && suspicion.doubt > 0 && connection->answers >= suspicion.doubt;
}

// Rank `rank` has left, which explains its broken connections.
void Coordinator::clear_suspicions(int rank) {
    const auto cleared =
        std::erase_if(suspicions_, [rank](const Suspicion& one) { return one.why.rank == rank; });
    if (suspicions_.empty()) {
        suspicion_grace_.stop();
    } else if (cleared > 0) {
        suspicion_grace_.start(suspicion_grace_ms);  // for the next one
    }
}

// Nothing has explained the oldest that its rank has answered: that rank is lost, if only to one
// other. A rank that is stopped, or still to come, may have a goodbye to say.
void Coordinator::confirm_suspicion() {
    const auto oldest = std::ranges::find_if(
        suspicions_, [this](const Suspicion& one) { return is_answered(one); });
    if (oldest != suspicions_.end()) return declare_lost(Status(oldest->why));
    if (!suspicions_.empty()) suspicion_grace_.start(suspicion_grace_ms);
}

// The first group cannot go on; of those made from it, the ones that the rank is in.
void Coordinator::declare_lost(const Status& loss) {
    std::erase_if(suspicions_, [&loss](const Suspicion& one) { return one.of == loss.rank; });
    clear_suspicions(loss.rank);
    if (has_slept_ && ruled_out_ && have_all_slept(loss.rank)) return obey_those_that_were_awake();
    has_missed_ = true;
    forget_pauses(loss.rank);
    arbiter_.declare_lost(loss);
    answer_inquiries(loss.rank);
    coverage_.note_change();
    note_arrivals();
    departures_.start(departures_ms, 0);  // it may have been the last
}

// Takes the report of the watcher of a rank's host, which comes again at every tick of the watcher,
// also of a rank that has not connected to this coordinator yet. The connection of a process that
// has ended may hold a goodbye still, which is read first.
void Coordinator::believe(int watcher, const Status& seen) {
    if (seen.rank < 0 || seen.rank >= size_ || !arbiter_.is_member(watcher)) return;
    const bool is_news = !arbiter_.has_left(seen.rank) && !arbiter_.is_lost(seen.rank);
    if (!is_news || !coverage_.watches(watcher, seen.rank)) return;
    const bool has_ended = seen.system_errno == ESRCH;
    if (!has_ended && pauses_.contains(seen.rank)) return;
    Connection* const connection = member(seen.rank);
    if (connection != nullptr && has_ended) {
        if (!connection->ended_at) connection->ended_at = tick_count_;
        if (tick_count_ - *connection->ended_at < ticks_to_read) return;
    }
    declare_lost(seen);
}

// It says so of itself, or of a rank that it watches.
void Coordinator::note_pause(int by, int rank, bool is_paused) {
    const bool may_say = by == rank || (rank >= 0 && rank < size_ && coverage_.watches(by, rank));
    if (!may_say || !pauses_.set(rank, by, is_paused)) return;
    if (Connection* const connection = member(rank)) connection->last_received = Clock::now();
    broadcast(encode(is_paused ? Kind::Paused : Kind::Resumed, rank));
}

void Coordinator::forget_pauses(int by) {
    for (const int rank : pauses_.forget(by)) broadcast(encode(Kind::Resumed, rank));
}

void Coordinator::tick() {
    ++tick_count_;
    if (lack_) keep_spare();
    cover();
    const bool was_suspended = heartbeat_clock_.was_suspended();
    note_sleep();
    std::vector<std::pair<int, bool>> all;  // by id: whether it is to be heard
    for (const auto& [id, connection] : connections_) {
        if (was_suspended) connection->last_received = Clock::now();
        const bool answers = connection->rank < 0 || ping(*connection);
        all.emplace_back(id, answers && !was_suspended);
    }
    for (const auto& [id, is_to_be_heard] : all) {
        if (Connection* const connection = find(id)) check_liveness(*connection, is_to_be_heard);
    }
}

void Coordinator::cover() {
    const auto is_member = [this](int rank) {
        return arbiter_.is_member(rank) && member(rank) != nullptr;
    };
    for (const auto& [rank, watcher] : coverage_.update(is_member)) {
        if (Connection* const connection = member(rank)) {
            connection->last_received = Clock::now();
            connection->asked = false;
            send(rank, encode(Kind::Covered, watcher));
        }
    }
}

// A member, if it has to say that it lives. One whose watcher is quiet is asked: it may be the host
// that is cut off, or the watcher alone that is stopped.
bool Coordinator::ping(Connection& connection) {
    const int watcher = coverage_.watcher_of(connection.rank);
    if (watcher == nobody) {
        send(connection.rank, encode(Kind::Ping));
        return true;
    }
    const Connection* const its_watcher = member(watcher);
    const bool asks = watcher != own_rank_ && its_watcher != nullptr &&
                      heartbeat_clock_.is_quiet(its_watcher->last_received);
    if (asks && !connection.asked) connection.last_received = Clock::now();
    connection.asked = asks;
    if (asks) send(connection.rank, encode(Kind::Ask));
    return asks;
}

void Coordinator::check_liveness(Connection& connection, bool is_to_be_heard) {
    if (connection.stream->queued() > max_queue) {
        drop(connection.id, {TUTTI_ERR_NETWORK, -1, 0, "it does not read its messages"});
    } else if (!is_to_be_heard || !heartbeat_clock_.is_overdue(connection.last_received)) {
        return;
    } else if (connection.rank < 0 && connection.waits) {
        return;
    } else if (connection.rank < 0) {
        drop(connection.id, {TUTTI_ERR_NETWORK, -1, 0, "it said nothing"});
    } else if (arbiter_.is_member(connection.rank) && !pauses_.contains(connection.rank)) {
        // It stays: it reads the verdict when it wakes.
        declare_lost(silence_error(connection.rank, heartbeat_.timeout_ms));
    }
}

// Loses nobody, so that it can be called from anywhere: the next tick does.
void Coordinator::send(int rank, const std::string& frame) {
    const Connection* const connection = member(rank);
    if (connection != nullptr && connection->stream->queued() <= max_queue)
        connection->stream->write(frame);
}

void Coordinator::broadcast(const std::string& frame) {
    for (const auto& [id, connection] : connections_) {
        if (connection->rank >= 0 && connection->stream->queued() <= max_queue) {
            connection->stream->write(frame);
        }
    }
}

// Where it runs, for those who read of it.
std::string Coordinator::own_name() const {
    return own_rank_ == nobody ? "the coordinator" : cat("rank ", own_rank_);
}

std::string Coordinator::missing() const {
    std::vector<int> ranks;
    for (size_t rank = 0; rank < endpoints_.size(); ++rank) {
        if (!endpoints_[rank]) ranks.push_back(static_cast<int>(rank));
    }
    return list_of_ranks(ranks);
}

std::string Coordinator::refused() const {
    std::string text;
    for (const auto& who : refused_) text += cat(text.empty() ? "" : ", ", who);
    return text;
}

}  // namespace tutti::membership
