#include "coordinator.hpp"

#include <algorithm>
#include <utility>

#include "absence.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace tutti::control {

namespace {

// A broken connection is explained by a death or a farewell within this time, or it is the failure
// itself.
constexpr int64_t patience_ms = 500;
constexpr size_t longest_queue = 64 * 1024 * 1024;
constexpr size_t most_refused = 4;  // that are told of

}  // namespace

Coordinator::Coordinator(net::Loop& loop, std::vector<int> listening, int size, const Token& token,
                         const Heartbeat& heartbeat)
    : loop_(loop),
      size_(size),
      token_(token),
      heartbeat_(heartbeat),
      seats_(static_cast<size_t>(size)),
      pulse_(heartbeat),
      ticks_(loop, [this] { tick(); }),
      patience_(loop, [this] { believe_suspicion(); }),
      listener_(loop, std::move(listening), [this](int descriptor) { accept(descriptor); }) {
    ticks_.start(heartbeat.interval_ms, heartbeat.interval_ms);
}

Coordinator::~Coordinator() {
    tell_all(encode(Kind::Closing));
}

void Coordinator::accept(int descriptor) {
    auto guest = std::make_unique<Guest>();
    const int id = guest->id = ++last_id_;
    guest->heard = Clock::now();
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
    guests_.push_back(std::move(guest));
}

Coordinator::Guest* Coordinator::find(int id) {
    const auto found =
        std::ranges::find_if(guests_, [id](const auto& one) { return one->id == id; });
    return found == guests_.end() ? nullptr : found->get();
}

Coordinator::Guest* Coordinator::member(int rank) {
    const auto found =
        std::ranges::find_if(guests_, [rank](const auto& one) { return one->rank == rank; });
    return found == guests_.end() ? nullptr : found->get();
}

// False when the guest is gone.
bool Coordinator::handle(Guest& guest, const Frame& frame) {
    if (guest.rank < 0) return greet(guest, frame);
    switch (frame.kind) {
        case Kind::Bye:
            guest.left = true;
            explain(guest.rank);
            tell_all(encode(Kind::Left, guest.rank));
            return true;
        case Kind::Suspect:
            suspect(decode_status(frame));
            return true;
        case Kind::Report:
            decide(decode_status(frame));
            return true;
        case Kind::Stalled:
            if (const auto mismatch = stalls_.add(guest.rank, decode_stall(frame))) {
                decide(*mismatch);
            }
            return true;
        case Kind::Who:
            if (!refused_.empty()) guest.stream->write(encode(Kind::Turned, refused()));
            guest.stream->write(encode(Kind::Missing, missing()));
            return true;
        default:
            return true;  // a ping has been heard; what a later version says may be ignored
    }
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
    if (holder != nullptr && !holder->left && !verdict_) {
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
    if (seat) {
        refuse_double(guest, hello.rank);
        return false;
    }
    guest.rank = hello.rank;
    seat = hello.seat;
    if (verdict_) guest.stream->write(encode(Kind::Verdict, *verdict_));
    if (std::ranges::all_of(seats_, [](const auto& one) { return one.has_value(); })) {
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
    const auto found =
        std::ranges::find_if(guests_, [id](const auto& one) { return one->id == id; });
    if (found == guests_.end()) return;
    const auto guest = std::move(*found);
    guests_.erase(found);
    if (guest->rank < 0) {
        log(guest->known ? LogLevel::Debug : LogLevel::Warning,
            "control: a connection ended before it joined: ", why.message);
    } else if (!guest->left) {
        mourn({TUTTI_ERR_PEER_LOST, guest->rank, why.system_errno,
               cat("rank ", guest->rank, " died (", why.message, ")")});
    }
}

void Coordinator::suspect(const Status& suspicion) {
    const Guest* const accused = member(suspicion.rank);
    if (accused == nullptr || accused->left || accused->lost) return;
    if (suspicions_.empty()) patience_.start(patience_ms, 0);
    suspicions_.push_back(suspicion);
}

// That rank said goodbye: its connections broke because it left.
void Coordinator::explain(int rank) {
    const auto explained =
        std::erase_if(suspicions_, [rank](const Status& one) { return one.rank == rank; });
    if (suspicions_.empty()) {
        patience_.stop();
    } else if (explained > 0) {
        patience_.start(patience_ms, 0);  // for the next one
    }
}

// Nothing has explained the oldest: the rank it names is lost, if only to one other.
void Coordinator::believe_suspicion() {
    if (suspicions_.empty()) return;
    const Status suspicion = suspicions_.front();
    if (Guest* const accused = member(suspicion.rank)) accused->lost = true;
    explain(suspicion.rank);
    mourn(suspicion);
}

// The first group cannot go on; of those made from it, the ones that the rank is in.
void Coordinator::mourn(const Status& loss) {
    decide(loss);
    tell_all(encode(Kind::Lost, loss));
}

void Coordinator::decide(const Status& verdict) {
    if (verdict_) return;
    verdict_ = verdict;
    log(LogLevel::Info, "control: ", verdict.message);
    tell_all(encode(Kind::Verdict, verdict));
}

void Coordinator::tick() {
    tell_all(encode(Kind::Ping));
    if (pulse_.overslept()) {
        for (const auto& guest : guests_) guest->heard = Clock::now();
        return;
    }
    std::vector<int> suspects;
    for (const auto& guest : guests_) suspects.push_back(guest->id);
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
    } else if (!guest.left && !guest.lost) {
        // It stays: it reads the verdict when it wakes.
        guest.lost = true;
        mourn({TUTTI_ERR_PEER_LOST, guest.rank, 0,
               cat("rank ", guest.rank, " has not answered for ", heartbeat_.limit_ms,
                   " ms (stopped or cut off)")});
    }
}

// Loses nobody, so that it can be called from anywhere: the next tick does.
void Coordinator::tell_all(const std::string& frame) {
    for (const auto& guest : guests_) {
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

}  // namespace tutti::control
