#include "coordinator.hpp"

#include <algorithm>
#include <utility>

#include "absence.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace tutti::membership {

namespace {

// A broken connection is explained by a death or a farewell within this time, or it is the failure
// itself.
constexpr int64_t explanation_ms = 500;
constexpr int64_t reunion_ms = 5000;
constexpr int64_t departures_ms = 1;  // what is told of together
constexpr size_t longest_queue = 64 * 1024 * 1024;
constexpr size_t most_refused = 4;  // that are told of
constexpr size_t longest_of_stranger = 64 * 1024;

}  // namespace

Coordinator::Coordinator(net::Loop& loop, std::vector<int> listening, int own_rank, int size,
                         const Token& token, const Heartbeat& heartbeat)
    : loop_(loop),
      own_rank_(own_rank),
      size_(size),
      token_(token),
      heartbeat_(heartbeat),
      seats_(static_cast<size_t>(size)),
      members_(static_cast<size_t>(size)),
      arbiter_(size, [this](int rank, const std::string& frame) { send(rank, frame); }),
      pulse_(heartbeat),
      ticks_(loop, [this] { tick(); }),
      explanation_(loop, [this] { believe_suspicion(); }),
      departures_(loop, [this] { note_departures(); }),
      reunion_(loop, [this] { miss_absent(); }),
      listener_(
          std::in_place, loop, std::move(listening), [this](int descriptor) { accept(descriptor); },
          [this](const Status& exhaustion) { return make_room(exhaustion); }) {
    ticks_.start(heartbeat.interval_ms, heartbeat.interval_ms);
}

void Coordinator::inherit(const Inheritance& inheritance) {
    has_inherited_ = true;
    for (size_t rank = 0; rank < inheritance.seats.size(); ++rank) {
        seats_[rank] = inheritance.seats[rank];
    }
    arbiter_.inherit(inheritance.left, inheritance.losses, inheritance.verdict,
                     inheritance.first_number);
    reunion_.start(std::max(reunion_ms, heartbeat_.limit_ms), 0);
}

void Coordinator::miss_absent() {
    for (const int rank : arbiter_.awaited()) {
        mourn({TUTTI_ERR_PEER_LOST, rank, 0,
               cat("rank ", rank, " has not come to the coordinator that follows")});
    }
}

Coordinator::~Coordinator() {
    tell_all(encode(Kind::Closing));
}

void Coordinator::hear(int rank, const std::string& bytes) {
    FrameReader().feed(std::as_bytes(std::span(bytes)), [&](const Frame& frame) {
        arbiter_.hear(rank, frame);
        return true;
    });
}

void Coordinator::depart(int rank) {
    hear(rank, encode(Kind::Bye, 0, std::vector<int>{}));
    explain(rank);
    arbiter_.tell_who_left();
}

void Coordinator::close_door() {
    listener_.reset();
    std::erase_if(guests_, [](const auto& entry) { return entry.second->rank < 0; });
}

void Coordinator::accept(int descriptor) {
    auto guest = std::make_unique<Guest>();
    const int id = guest->id = ++last_id_;
    guest->heard = Clock::now();
    guest->frames.allow(longest_of_stranger);
    net::Stream::Events events;
    events.data = [this, id](std::span<const std::byte> bytes) {
        Guest* const from = find(id);
        if (from == nullptr) return;
        from->heard = Clock::now();
        try {
            from->frames.feed(bytes, [&](const Frame& frame) { return handle(*from, frame); });
        } catch (...) {
            lose(id, current_status());
        }
    };
    events.closed = [this, id](const Status& why) { lose(id, why); };
    guest->stream = net::Stream::adopt(loop_, descriptor, std::move(events));
    guests_[id] = std::move(guest);
    if (const auto oldest = strangers_.add(id)) guests_.erase(*oldest);
}

// Without a descriptor for who comes: the oldest that has not said who it is goes, if there is one.
bool Coordinator::make_room(const Status& exhaustion) {
    if (const auto oldest = strangers_.take_oldest()) {
        guests_.erase(*oldest);
        return true;
    }
    if (!arbiter_.awaited().empty()) {  // it may be one of them
        Status cause = exhaustion;
        cause.rank = own_rank_;
        cause.message = cat("rank ", own_rank_, " cannot let the others in: ", exhaustion.message);
        arbiter_.decide(cause);
    }
    return false;
}

Coordinator::Guest* Coordinator::find(int id) {
    const auto found = guests_.find(id);
    return found == guests_.end() ? nullptr : found->second.get();
}

Coordinator::Guest* Coordinator::member(int rank) {
    return rank < 0 || rank >= size_ ? nullptr : members_[static_cast<size_t>(rank)];
}

// False when the guest is gone.
bool Coordinator::handle(Guest& guest, const Frame& frame) {
    if (guest.rank < 0) return greet(guest, frame);
    switch (frame.kind) {
        case Kind::Suspect:
            suspect(decode_status(frame));
            return true;
        case Kind::Who:
            if (!refused_.empty()) guest.stream->write(encode(Kind::Turned, refused()));
            guest.stream->write(encode(Kind::Missing, missing()));
            return true;
        case Kind::Bye:
            arbiter_.hear(guest.rank, frame);
            if (arbiter_.has_left(guest.rank)) {
                explain(guest.rank);
                leaving_.push_back(guest.rank);
            }
            departures_.start(departures_ms, 0);
            return true;
        default:
            arbiter_.hear(guest.rank, frame);
            return true;  // a ping has been heard; what a later version says may be ignored
    }
}

// Once for all who left meanwhile: when ranks end together, each of them does.
void Coordinator::note_departures() {
    arbiter_.tell_who_left();
    for (const int rank : std::exchange(leaving_, {})) send(rank, encode(Kind::Farewell));
    if (!has_members() && all_left_) std::exchange(all_left_, nullptr)();
}

// False when the guest is gone.
bool Coordinator::belongs(Guest& guest, const Token& token, int rank, int size) {
    if (token != token_) {
        lose(guest.id, {TUTTI_ERR_NETWORK, -1, 0, "a stranger called"});
        return false;
    }
    if (size != size_ || rank < 0 || rank >= size_) {
        const auto who = cat("rank ", rank, " of ", size);
        refuse(guest, who, cat("it says ", who, ", and rank 0 says ", size_, " ranks"));
        return false;
    }
    return true;
}

// A rank whose place is taken is one too many, unless whoever had the place has left, or the group
// has failed: then it comes for the next group on this store, and hears of that when we are gone.
bool Coordinator::answer(Guest& guest, const Knock& knock) {
    if (!belongs(guest, knock.token, knock.rank, knock.size)) return false;
    guest.known = true;
    if (!seats_[static_cast<size_t>(knock.rank)]) {
        guest.stream->write(encode(Kind::Welcome));
        return true;
    }
    const Guest* const holder = member(knock.rank);
    if (holder != nullptr && !arbiter_.has_left(knock.rank) && !arbiter_.is_decided()) {
        refuse_double(guest, knock.rank);
        return false;
    }
    guest.waits = knock.rank != 0;
    if (!guest.waits) lose(guest.id, {TUTTI_ERR_NETWORK, 0, 0, "the next rank 0 has come"});
    return guest.waits;
}

bool Coordinator::greet(Guest& guest, const Frame& frame) {
    if (frame.kind == Kind::Knock) return answer(guest, decode_knock(frame));
    if (frame.kind == Kind::Ping && guest.known) return true;
    const Hello hello = decode_hello(frame);
    if (!belongs(guest, hello.token, hello.rank, hello.size)) return false;
    auto& seat = seats_[static_cast<size_t>(hello.rank)];
    if (has_inherited_ ? member(hello.rank) != nullptr : seat.has_value()) {
        refuse_double(guest, hello.rank);
        return false;
    }
    guest.rank = hello.rank;
    guest.frames.allow(longest_frame);
    strangers_.remove(guest.id);
    members_[static_cast<size_t>(hello.rank)] = &guest;
    seat = hello.seat;
    arbiter_.enter(hello.rank);
    if (!has_inherited_ &&
        std::ranges::all_of(seats_, [](const auto& one) { return one.has_value(); })) {
        std::vector<Seat> roster;
        for (const auto& one : seats_) roster.push_back(*one);
        tell_all(encode(roster));
    }
    return true;
}

// Who is refused is told at once; those who wait for it hear of that when their time is up.
void Coordinator::refuse(Guest& guest, const std::string& who, const std::string& reason) {
    std::erase(refused_, who);
    if (refused_.size() == most_refused) refused_.erase(refused_.begin());
    refused_.push_back(who);
    guest.stream->write(encode(Kind::Refused, reason));
    lose(guest.id, {TUTTI_ERR_NETWORK, -1, 0, reason});
}

void Coordinator::refuse_double(Guest& guest, int rank) {
    refuse(guest, cat("a second rank ", rank),
           cat("another process has come as rank ", rank, " before"));
}

void Coordinator::lose(int id, const Status& why) {
    const auto found = guests_.find(id);
    if (found == guests_.end()) return;
    const auto guest = std::move(found->second);
    guests_.erase(found);
    strangers_.remove(id);
    if (guest->rank >= 0) members_[static_cast<size_t>(guest->rank)] = nullptr;
    if (guest->rank < 0) {
        log(guest->known ? LogLevel::Debug : LogLevel::Warning,
            "control: a connection ended before it joined: ", why.message);
    } else if (!arbiter_.has_left(guest->rank)) {
        mourn(has_died(guest->rank, why));
    }
}

void Coordinator::suspect(const Status& suspicion) {
    if (!arbiter_.is_member(suspicion.rank)) return;
    if (suspicions_.empty()) explanation_.start(explanation_ms, 0);
    suspicions_.push_back(suspicion);
}

// That rank said goodbye: its connections broke because it left.
void Coordinator::explain(int rank) {
    const auto explained =
        std::erase_if(suspicions_, [rank](const Status& one) { return one.rank == rank; });
    if (suspicions_.empty()) {
        explanation_.stop();
    } else if (explained > 0) {
        explanation_.start(explanation_ms, 0);  // for the next one
    }
}

// Nothing has explained the oldest: the rank it names is lost, if only to one other.
void Coordinator::believe_suspicion() {
    if (suspicions_.empty()) return;
    const Status suspicion = suspicions_.front();
    explain(suspicion.rank);
    mourn(suspicion);
}

// The first group cannot go on; of those made from it, the ones that the rank is in.
void Coordinator::mourn(const Status& loss) {
    explain(loss.rank);
    arbiter_.lose(loss);
    departures_.start(departures_ms, 0);  // it may have been the last
}

void Coordinator::tick() {
    tell_all(encode(Kind::Ping));
    if (pulse_.overslept()) {
        for (const auto& [id, guest] : guests_) guest->heard = Clock::now();
        return;
    }
    std::vector<int> suspects;
    for (const auto& [id, guest] : guests_) suspects.push_back(id);
    for (const int id : suspects) {
        if (Guest* const guest = find(id)) examine(*guest);
    }
}

void Coordinator::examine(Guest& guest) {
    if (guest.stream->queued() > longest_queue) {
        lose(guest.id, {TUTTI_ERR_NETWORK, -1, 0, "it does not read"});
    } else if (!pulse_.too_silent(guest.heard)) {
        return;
    } else if (guest.rank < 0 && guest.waits) {
        return;
    } else if (guest.rank < 0) {
        lose(guest.id, {TUTTI_ERR_NETWORK, -1, 0, "it said nothing"});
    } else if (arbiter_.is_member(guest.rank)) {
        // It stays: it reads the verdict when it wakes.
        mourn(is_silent(guest.rank, heartbeat_.limit_ms));
    }
}

// Loses nobody, so that it can be called from anywhere: the next tick does.
void Coordinator::send(int rank, const std::string& frame) {
    const Guest* const guest = member(rank);
    if (guest != nullptr && guest->stream->queued() <= longest_queue) guest->stream->write(frame);
}

void Coordinator::tell_all(const std::string& frame) {
    for (const auto& [id, guest] : guests_) {
        if (guest->rank >= 0 && guest->stream->queued() <= longest_queue) {
            guest->stream->write(frame);
        }
    }
}

std::string Coordinator::missing() const {
    std::vector<int> ranks;
    for (size_t rank = 0; rank < seats_.size(); ++rank) {
        if (!seats_[rank]) ranks.push_back(static_cast<int>(rank));
    }
    return list_of_ranks(ranks);
}

std::string Coordinator::refused() const {
    std::string text;
    for (const auto& who : refused_) text += cat(text.empty() ? "" : ", ", who);
    return text;
}

}  // namespace tutti::membership
