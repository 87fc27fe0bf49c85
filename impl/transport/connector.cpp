#include "connector.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "base/log.hpp"
#include "base/resource_limits.hpp"
#include "base/thread.hpp"
#include "membership/invitation.hpp"
#include "net/address.hpp"

namespace tutti {

namespace {

constexpr uint32_t magic = 0x44545554;  // "TUTD"
constexpr uint32_t version = 2;
constexpr int backlog = 4096;
constexpr int64_t attempt_ms = 30'000;  // what a rank's addresses may take to answer
// What they may take before that rank is asked to call; then twice that, and so on.
constexpr int64_t first_patience_ms = 200;
constexpr int64_t longest_patience_ms = 3200;
constexpr membership::Token dropped{};  // the answer to a call that the other side's replaces

// Its bytes travel as they are.
struct Greeting {
    uint32_t magic;
    uint32_t version;
    uint32_t rank;
    membership::Token secret;  // of the rank that is called
};

net::Descriptor make_event() {
    net::Descriptor event(net::open_noted([&] { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }));
    if (!event.valid()) throw system_error(TUTTI_ERR_OUT_OF_MEMORY, "eventfd", errno);
    return event;
}

}  // namespace

Connector::Connector(World& world, Events events)
    : world_(world),
      events_(std::move(events)),
      loop_(net::Loop::shared()),
      cancel_(make_event()),
      routes_(world.routes()),
      peers_(static_cast<size_t>(world.size())) {
    auto sockets = net::ListenSocket::bind_each(routes_.listening_at, backlog);
    own_ = {sockets.front().port(), membership::random_token()};
    std::vector<int> descriptors;
    for (auto& socket : sockets) descriptors.push_back(socket.release());
    loop_->run([&] {
        listener_ = std::make_unique<net::Listener>(
            *loop_, std::move(descriptors), [this](int descriptor) { accept(descriptor); },
            [this](const Status&) { return make_room(); });
    });
    world_.on_asked_to_connect([this](int peer) { call_back(peer); });
}

Connector::~Connector() {
    world_.on_asked_to_connect(nullptr);
    std::thread caller;
    {
        const Lock lock(mutex_);
        is_ending_ = true;
        attempts_.clear();
        changed_.notify_all();
        caller = std::move(caller_);
    }
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(cancel_.get(), &one, sizeof one);
    if (caller.joinable()) caller.join();
    loop_->run([this] {
        listener_.reset();
        visitors_.clear();
    });
}

std::string Connector::address() const {
    return cat(own_.port, " ", membership::hex(own_.secret));
}

void Connector::know(int peer, const std::string& address) {
    net::Socket early;
    {
        const Lock lock(mutex_);
        Peer& there = peers_[static_cast<size_t>(peer)];
        if (there.known) return;
        const size_t space = std::min(address.find(' '), address.size());
        there.endpoint.port = static_cast<int>(
            parse_number(address.substr(0, space), "a rank's port", 1, net::highest_port));
        if (!membership::parse_hex(
                std::string_view(address).substr(std::min(space + 1, address.size())),
                there.endpoint.secret)) {
            throw Error(TUTTI_ERR_NETWORK, cat("rank ", peer, " says where it is in other words"));
        }
        there.known = true;
        early = std::move(there.early);
    }
    if (early.valid()) answer(peer, std::move(early));
}

void Connector::want(int peer) {
    Status failure;
    {
        const Lock lock(mutex_);
        if (peers_[static_cast<size_t>(peer)].state == State::None) failure = start_calling(peer);
    }
    if (!failure.ok()) fail(peer, failure);
}

bool Connector::has_begun(int peer) {
    const Lock lock(mutex_);
    return peers_[static_cast<size_t>(peer)].state != State::None;
}

void Connector::call_back(int peer) {
    Status failure;
    {
        const Lock lock(mutex_);
        const Peer& there = peers_[static_cast<size_t>(peer)];
        const bool waits = there.state == State::None || there.state == State::Awaiting;
        if (waits && there.known) failure = start_calling(peer);
    }
    if (!failure.ok()) fail(peer, failure);
}

// Fails without a thread to call on.
Status Connector::start_calling(int peer) {
    if (is_ending_) return {};
    peers_[static_cast<size_t>(peer)].state = State::Calling;
    attempts_.insert_or_assign(
        peer, Attempt{Deadline::Clock::now(), first_patience_ms, Deadline::after_ms(attempt_ms)});
    changed_.notify_all();
    if (is_calling_) return {};
    if (caller_.joinable()) caller_.join();  // it has done what it was started for
    try {
        caller_ = start_thread("tutti-connect", [this] { call_all(); });
        is_calling_ = true;
        return {};
    } catch (...) {
        attempts_.erase(peer);
        peers_[static_cast<size_t>(peer)].state = State::None;
        return current_status();
    }
}

void Connector::fail(int peer, Status why) {
    why.rank = peer;
    why.message = cat("rank ", world_.rank(), " cannot connect to rank ", peer, ": ", why.message);
    events_.failed(peer, why);
}

// Nobody there will ever answer.
bool Connector::is_gone(int peer) const {
    return world_.has_departed(peer) || !world_.loss_of(peer).ok();
}

// Who comes in, on the loop's thread.

void Connector::accept(int descriptor) {
    const int id = ++last_visitor_;
    net::Stream::Events events;
    events.data = [this, id](std::span<const std::byte> bytes) { hear(id, bytes); };
    events.closed = [this, id](const Status&) {
        strangers_.remove(id);
        visitors_.erase(id);
    };
    visitors_[id].stream = net::Stream::adopt(*loop_, descriptor, std::move(events));
    if (const auto oldest = strangers_.add(id)) visitors_.erase(*oldest);
}

bool Connector::make_room() {
    const auto oldest = strangers_.take_oldest();
    if (oldest) visitors_.erase(*oldest);
    return oldest.has_value();
}

void Connector::hear(int visitor, std::span<const std::byte> bytes) {
    const auto found = visitors_.find(visitor);
    if (found == visitors_.end()) return;
    found->second.heard.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (found->second.heard.size() < sizeof(Greeting)) return;
    const Visitor whole = std::move(found->second);
    visitors_.erase(found);
    strangers_.remove(visitor);
    try {
        admit(net::Socket(whole.stream->release()), whole.heard);
    } catch (const Error& error) {
        log(LogLevel::Warning, "transport: a caller was lost: ", error.what());
    }
}

void Connector::admit(net::Socket connection, const std::string& heard) {
    Greeting greeting{};
    std::memcpy(&greeting, heard.data(), sizeof greeting);
    const auto peer = static_cast<int>(greeting.rank);
    if (heard.size() != sizeof greeting || greeting.magic != magic || greeting.version != version ||
        peer < 0 || peer >= world_.size() || peer == world_.rank() ||
        greeting.secret != own_.secret) {
        log(LogLevel::Warning, "transport: a stranger connected from ",
            connection.remote_address());
        return;
    }
    {
        const Lock lock(mutex_);
        Peer& there = peers_[static_cast<size_t>(peer)];
        if (!there.known) {
            there.early = std::move(connection);
            return;
        }
    }
    answer(peer, std::move(connection));
}

void Connector::answer(int peer, net::Socket connection) {
    membership::Token secret{};
    {
        const Lock lock(mutex_);
        Peer& there = peers_[static_cast<size_t>(peer)];
        const bool mine_stays = there.state == State::Greeting && world_.rank() < peer;
        secret = mine_stays ? dropped : there.endpoint.secret;
        if (there.state == State::Connected || is_ending_) return;
        if (!mine_stays) there.state = State::Connected;
    }
    connection.send_all(std::as_bytes(std::span(secret)), Deadline::after_ms(attempt_ms),
                        cancel_.get());
    if (secret != dropped) events_.connected(peer, std::move(connection));
}

// Who is called, on a thread that ends when nobody is to be.

void Connector::call_all() noexcept {
    Lock lock(mutex_);
    for (;;) {
        std::erase_if(attempts_, [this](const auto& entry) TUTTI_REQUIRES(mutex_) {
            return peers_[static_cast<size_t>(entry.first)].state != State::Calling;
        });
        if (attempts_.empty()) {
            is_calling_ = false;
            return;
        }
        const auto due = std::ranges::min_element(
            attempts_, {}, [](const auto& entry) { return entry.second.next; });
        const auto [peer, attempt] = *due;
        if (attempt.next > Deadline::Clock::now()) {
            changed_.wait(lock, Deadline::at(attempt.next));
            continue;
        }
        // Should it fail, others come first.
        due->second.next += std::chrono::milliseconds(attempt.patience_ms);
        due->second.patience_ms = std::min(2 * attempt.patience_ms, longest_patience_ms);
        const Endpoint endpoint = peers_[static_cast<size_t>(peer)].endpoint;
        lock.unlock();
        try_to_call(peer, endpoint, attempt);
        lock.lock();
    }
}

void Connector::try_to_call(int peer, const Endpoint& endpoint, const Attempt& attempt) noexcept {
    try {
        TUTTI_FAULT_POINT("transport.connect");
        const Deadline deadline = Deadline::after_ms(attempt.patience_ms);
        return call(peer, endpoint, deadline.or_earlier(attempt.until));
    } catch (...) {
        Status status = current_status();
        const bool may_be_hidden =
            status.code == TUTTI_ERR_NETWORK && !attempt.until.expired() && !is_gone(peer);
        if (!enter(peer, may_be_hidden ? State::Calling : State::None)) return;
        if (may_be_hidden) return world_.ask_to_connect(peer);
        fail(peer, std::move(status));
    }
}

// False if there is a connection already, or there shall be none.
bool Connector::enter(int peer, State state) {
    const Lock lock(mutex_);
    Peer& there = peers_[static_cast<size_t>(peer)];
    if (is_ending_ || there.state == State::Connected) return false;
    there.state = state;
    return true;
}

// Whoever answers must be that rank: on another host the same address may lead elsewhere.
void Connector::call(int peer, const Endpoint& endpoint, const Deadline& deadline) {
    auto ways = net::numeric_addresses(routes_.by_rank[static_cast<size_t>(peer)], endpoint.port);
    for (;;) {
        const bool is_last = ways.size() <= 1;
        net::Socket connection = net::Socket::connect(ways, deadline, cancel_.get());
        if (!enter(peer, State::Greeting)) return;
        const std::string way = connection.remote_address();
        try {
            if (!greet(peer, endpoint, connection, is_last))
                return (void)enter(peer, State::Awaiting);
        } catch (const Error& error) {
            if (is_last || error.status().code == TUTTI_ERR_ABORTED) throw;
            log(LogLevel::Debug, "transport: ", error.what());
            std::erase_if(ways, [&](const net::Address& one) { return one.host() == way; });
            if (!enter(peer, State::Calling)) return;
            continue;
        }
        if (enter(peer, State::Connected)) events_.connected(peer, std::move(connection));
        return;
    }
}

// Looks now and then whether that rank still is there: the system answers for one that is stopped.
void Connector::hear_answer(int peer, net::Socket& connection, std::span<std::byte> answer,
                            const Deadline& deadline) {
    while (!answer.empty()) {
        try {
            const Deadline look = deadline.or_earlier(Deadline::after_ms(first_patience_ms));
            const size_t count = connection.recv_some(answer, look, cancel_.get());
            if (count == 0) {
                throw Error(TUTTI_ERR_NETWORK, "whoever answered hung up");
            }
            answer = answer.subspan(count);
        } catch (const Error& error) {
            const bool waits = error.status().code == TUTTI_ERR_TIMEOUT && !deadline.expired();
            if (!waits || is_gone(peer)) throw;
        }
    }
}

// False if the other side's call takes the place of this one.
bool Connector::greet(int peer, const Endpoint& endpoint, net::Socket& connection, bool is_last) {
    // A rank that is stopped is noticed elsewhere; at the last address there is time.
    const Deadline deadline = is_last ? Deadline::never() : Deadline::after_ms(attempt_ms);
    const Greeting greeting{magic, version, static_cast<uint32_t>(world_.rank()), endpoint.secret};
    connection.send_all(std::as_bytes(std::span(&greeting, 1)), deadline, cancel_.get());
    membership::Token secret{};
    hear_answer(peer, connection, std::as_writable_bytes(std::span(secret)), deadline);
    if (secret == dropped) return false;
    if (secret == own_.secret) return true;
    throw Error(
        TUTTI_ERR_NETWORK,
        cat("whoever answers at ", net::endpoint_text(connection.remote_address(), endpoint.port),
            " is not rank ", peer),
        peer);
}

}  // namespace tutti
