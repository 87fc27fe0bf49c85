#include "connector.hpp"

#include <fcntl.h>
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
#include "base/plain.hpp"
#include "base/resource_limits.hpp"
#include "base/thread.hpp"
#include "membership/invitation.hpp"
#include "net/address.hpp"

namespace tutti {

namespace {

constexpr uint32_t magic = 0x44545554;  // "TUTD"
constexpr uint32_t version = 3;
constexpr int backlog = 4096;
constexpr int64_t attempt_ms = 30'000;  // what a rank's addresses may take to answer
// The time they may take before that rank is asked to call; then twice that, and so on.
constexpr int64_t first_timeout_ms = 200;
constexpr int64_t max_timeout_ms = 3200;
// So often a rank is asked, at least, before this one takes refusals for final: its calls have had
// more than a second by then.
constexpr int least_asked = 4;
constexpr int64_t further_ms = 1000;  // what a further connection may take
constexpr int descriptors_for_others = 64;
constexpr int descriptors_beside = 1;  // what a connection's owner opens when it has it

// Its bytes travel as they are.
struct Handshake {
    uint32_t magic;
    uint32_t version;
    uint32_t rank;
    uint32_t joins;            // 1: a further connection
    membership::Token secret;  // of the rank that is called
};
static_assert(sizeof(Handshake) == Connector::handshake_bytes);

net::Descriptor make_event() {
    net::Descriptor event(open_tracked([&] { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }));
    if (!event.valid()) throw call_error("eventfd", "eventfd", errno);
    return event;
}

// Asked before the other side relies on the connection.
int lacks_descriptors() {
    return exhaustion_of_descriptors(descriptors_beside);
}

Error too_few_descriptors(int number) {
    return system_error(TUTTI_ERR_OUT_OF_MEMORY, "keeping the connection", number);
}

Status gone() {
    return {TUTTI_ERR_PEER_LOST, -1, 0, "it is gone"};
}

}  // namespace

Connector::Connector(World& world, Events events, FurtherConnections further)
    : world_(world),
      events_(std::move(events)),
      further_(std::move(further)),
      loop_(net::Loop::shared()),
      cancel_(make_event()),
      routes_(world.routes()),
      peers_(static_cast<size_t>(world.size())) {
    auto sockets = net::ListenSocket::bind_each(routes_.listening_at, backlog);
    own_ = {sockets.front().port(), membership::random_token()};
    std::vector<int> descriptors;
    for (auto& socket : sockets) descriptors.push_back(socket.release());
    loop_->run([&] {
        looks_.emplace(*loop_, [this] { miss_answers(); });
        listener_ = std::make_unique<net::Listener>(
            *loop_, std::move(descriptors), [this](int descriptor) { accept(descriptor); },
            [this](const Status& exhaustion) { return make_room(exhaustion); });
        keep_spare();
    });
    world_.on_asked_to_connect([this](int peer) { connect_back(peer); });
    world_.on_gone([this](int peer) { give_up(peer); });
}

Connector::~Connector() {
    world_.on_asked_to_connect(nullptr);
    world_.on_gone(nullptr);
    std::array<std::thread, most_connecting + 1> threads;
    {
        const Lock lock(mutex_);
        is_ending_ = true;
        attempts_.clear();
        further_calls_.clear();
        changed_.notify_all();
        for (size_t i = 0; i < most_connecting; ++i) threads[i] = std::move(connecting_[i].thread);
        threads.back() = std::move(further_worker_.thread);
    }
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(cancel_.get(), &one, sizeof one);
    for (std::thread& thread : threads) {
        if (thread.joinable()) thread.join();
    }
    loop_->run([this] {
        listener_.reset();
        incoming_.clear();
        greeted_.clear();
        looks_.reset();
        spare_.reset();
    });
}

std::string Connector::address() const {
    return cat(own_.port, " ", membership::hex(own_.secret));
}

void Connector::set_address(int peer, const std::string& address) {
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
            throw Error(TUTTI_ERR_NETWORK, cat("rank ", peer, " sent a malformed address"));
        }
        there.known = true;
        early = std::move(there.early);
    }
    if (early.valid()) answer(peer, std::move(early));
}

void Connector::exchange_addresses(Membership& group, const char* key, const Deadline& deadline) {
    const auto addresses = group.all_gather(key, address(), deadline);
    for (int rank = 0; rank < group.size(); ++rank) {
        if (rank == group.rank()) continue;
        set_address(group.world_rank(rank), addresses[static_cast<size_t>(rank)]);
    }
}

void Connector::ensure_connected(int peer) {
    Status failure;
    bool asks = false;
    {
        const Lock lock(mutex_);
        if (peers_[static_cast<size_t>(peer)].state != State::None) return;
        Attempt attempt = first_attempt();
        asks = hidden_.contains(way_to(peer));
        if (asks) attempt.next += std::chrono::milliseconds(first_timeout_ms);
        failure = begin_connecting(peer, std::move(attempt));
    }
    if (!failure.ok()) return fail(peer, failure);
    if (asks) world_.ask_to_connect(peer);
}

bool Connector::has_begun(int peer) {
    const Lock lock(mutex_);
    return peers_[static_cast<size_t>(peer)].state != State::None;
}

void Connector::connect_back(int peer) {
    Status failure;
    {
        const Lock lock(mutex_);
        Peer& there = peers_[static_cast<size_t>(peer)];
        ++there.asked;
        const bool waits = there.state == State::None || there.state == State::AwaitingPeer;
        if (waits && there.known) failure = begin_connecting(peer, first_attempt());
    }
    if (!failure.ok()) fail(peer, failure);
}

Connector::Attempt Connector::first_attempt() {
    return {Deadline::Clock::now(), first_timeout_ms, Deadline::after_ms(attempt_ms)};
}

Status Connector::begin_connecting(int peer, Attempt attempt) {
    peers_[static_cast<size_t>(peer)].asked = 0;
    return start_connecting(peer, std::move(attempt));
}

// A rank listens before others know where. So what is refused stays refused, unless another host
// has its address; and then it may still call this rank, but it has asked to be called itself.
bool Connector::is_closed_way(int peer, const Status& why) const {
    return net::is_refusal(why.system_errno) &&
           peers_[static_cast<size_t>(peer)].asked >= least_asked;
}

// That rank has gone, and sent nothing unless this rank has its answer, or may have: those end by
// themselves. Nobody waits for it from now on: states in which nothing else would tell that it goes
// are entered with the lock, and only while it is not known to be gone.
void Connector::give_up(int peer) {
    {
        const Lock lock(mutex_);
        State& state = peers_[static_cast<size_t>(peer)].state;
        if (is_ending_ || state == State::ShakingHands || state == State::Connected) return;
        state = State::None;
        changed_.notify_all();
    }
    fail(peer, gone());
}

// Fails for a rank that is gone, and without a thread to call on.
Status Connector::start_connecting(int peer, Attempt attempt) {
    if (is_ending_) return {};
    peers_[static_cast<size_t>(peer)].state = State::None;
    if (world_.is_gone(peer)) return gone();
    peers_[static_cast<size_t>(peer)].state = State::Connecting;
    attempts_.insert_or_assign(peer, std::move(attempt));
    changed_.notify_all();
    try {
        keep_connecting();
        return {};
    } catch (...) {
        attempts_.erase(peer);
        peers_[static_cast<size_t>(peer)].state = State::None;
        return current_status();
    }
}

void Connector::keep_running(Worker& worker, void (Connector::*work)(Worker&) noexcept) {
    if (worker.is_running) return;
    if (worker.thread.joinable()) worker.thread.join();  // it has done what it was started for
    worker.thread = start_thread("tutti-connect", [this, work, &worker] { (this->*work)(worker); });
    worker.is_running = true;
}

// One more calls, if all are busy. Throws if none does and there can be no thread.
void Connector::keep_connecting() {
    if (is_awaited_) return;
    const auto unused = std::ranges::find(connecting_, false, &Worker::is_running);
    if (unused == connecting_.end()) return;
    try {
        keep_running(*unused, &Connector::connect_all);
    } catch (...) {
        if (std::ranges::none_of(connecting_, &Worker::is_running)) throw;
    }
}

// What this process lacks is no fault of that rank. Of one that is gone it is the end anyway.
void Connector::fail(int peer, Status why) {
    why.message = cat("rank ", world_.rank(), " cannot connect to rank ", peer, ": ", why.message);
    why.rank = peer;
    if (why.code != TUTTI_ERR_OUT_OF_MEMORY || world_.is_gone(peer)) {
        return events_.failed(peer, why);
    }
    why.rank = -1;
    blame_own_exhaustion(why, world_.rank());
    events_.lacking(peer, why);
}

// Incoming connections, on the loop's thread.

void Connector::accept(int descriptor) {
    const int id = ++last_incoming_;
    net::Stream::Events events;
    events.data = [this, id](std::span<const std::byte> bytes) { receive(id, bytes); };
    events.closed = [this, id](const Status&) {
        strangers_.remove(id);
        incoming_.erase(id);
    };
    incoming_[id].stream = net::Stream::adopt(*loop_, descriptor, std::move(events));
    if (const auto oldest = strangers_.add(id)) incoming_.erase(*oldest);
    keep_spare();
}

void Connector::keep_spare() noexcept {
    if (spare_.valid()) return;
    spare_ =
        net::Descriptor(open_tracked([&] { return fcntl(cancel_.get(), F_DUPFD_CLOEXEC, 0); }));
}

bool Connector::expects_anyone() {
    const Lock lock(mutex_);
    for (int peer = 0; peer < world_.size(); ++peer) {
        const bool is_other = peer != world_.rank() && !world_.is_gone(peer);
        if (is_other && peers_[static_cast<size_t>(peer)].state != State::Connected) return true;
    }
    return false;
}

// Who calls may be a stranger, or a rank that waits for this one. If there is no room even to hear
// which, it is taken for a rank.
bool Connector::make_room(const Status& exhaustion) {
    if (spare_.valid()) {
        spare_.reset();
        return true;
    }
    if (const auto oldest = strangers_.take_oldest()) {
        incoming_.erase(*oldest);
        return true;
    }
    if (expects_anyone()) {
        Status why = exhaustion;
        why.rank = world_.rank();
        why.message = cat("rank ", world_.rank(), " cannot let others connect: ", why.message);
        events_.lacking(membership::nobody, why);
    }
    return false;
}

void Connector::receive(int incoming, std::span<const std::byte> bytes) {
    const auto found = incoming_.find(incoming);
    if (found == incoming_.end()) return;
    found->second.received.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (found->second.received.size() < sizeof(Handshake)) return;
    {
        const Incoming whole = std::move(found->second);
        incoming_.erase(found);
        strangers_.remove(incoming);
        take_call(whole);
    }
    keep_spare();
}

// Who calls is known before anything else is needed for it.
void Connector::take_call(const Incoming& incoming) {
    const auto [peer, joins] = find_caller(incoming.received);
    try {
        net::Socket connection(incoming.stream->release());
        if (joins) return accept_further(peer, std::move(connection));
        if (peer != membership::nobody) return accept_peer(peer, std::move(connection));
        log(LogLevel::Warning, "transport: unauthenticated connection from ",
            connection.remote_address());
    } catch (const Error& error) {
        log(LogLevel::Warning, "transport: a caller was lost: ", error.what());
        const bool is_lack = error.status().code == TUTTI_ERR_OUT_OF_MEMORY;
        if (is_lack && !joins && peer != membership::nobody) fail(peer, error.status());
    }
}

// A further connection comes from a rank to which there is one.
void Connector::accept_further(int peer, net::Socket connection) noexcept {
    try {
        membership::Token secret{};
        {
            const Lock lock(mutex_);
            const Peer& there = peers_[static_cast<size_t>(peer)];
            if (there.state != State::Connected || is_ending_ || !events_.joined) return;
            secret = there.endpoint.secret;
        }
        if (!has_spare_descriptors(descriptors_kept())) return;
        connection.send_all(std::as_bytes(std::span(secret)), Deadline::after_ms(further_ms),
                            cancel_.get());
        events_.joined(peer, std::move(connection), std::nullopt);
    } catch (...) {
        log(LogLevel::Debug, "transport: ", current_status().message);
    }
}

// The rank that it proves to be, or nobody.
Connector::Caller Connector::find_caller(const std::string& received) const {
    Handshake handshake{};
    std::memcpy(&handshake, received.data(), sizeof handshake);
    const auto peer = static_cast<int>(handshake.rank);
    const bool is_right = received.size() == sizeof handshake && handshake.magic == magic &&
                          handshake.version == version && peer >= 0 && peer < world_.size() &&
                          peer != world_.rank() && handshake.secret == own_.secret;
    if (!is_right) return {membership::nobody, false};
    return {peer, handshake.joins != 0};
}

void Connector::accept_peer(int peer, net::Socket connection) {
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
    const int lack = lacks_descriptors();
    {
        const Lock lock(mutex_);
        Peer& there = peers_[static_cast<size_t>(peer)];
        const bool mine_stays = there.state == State::ShakingHands && world_.rank() < peer;
        secret = mine_stays ? dropped : there.endpoint.secret;
        // One that is gone has sent nothing that waits for this answer.
        if (there.state == State::Connected || is_ending_ || world_.is_gone(peer)) return;
        if (!mine_stays && lack == 0) there.state = State::Connected;
    }
    if (secret != dropped && lack != 0) return fail(peer, too_few_descriptors(lack).status());
    try {
        connection.send_all(std::as_bytes(std::span(secret)), Deadline::after_ms(attempt_ms),
                            cancel_.get());
    } catch (const Error&) {
        if (secret == dropped) throw;  // this rank's call goes on
        return call_instead(peer);
    }
    if (secret != dropped) events_.connected(peer, std::move(connection));
}

// Its call broke when it had taken the place of this rank's.
void Connector::call_instead(int peer) {
    Status failure;
    {
        const Lock lock(mutex_);
        failure = begin_connecting(peer, first_attempt());
    }
    if (!failure.ok()) fail(peer, failure);
}

// Outgoing connections, on threads that end when no more are wanted.

// No thread sees to it.
std::map<int, Connector::Attempt>::iterator Connector::next_attempt() {
    std::erase_if(attempts_, [this](const auto& entry) TUTTI_REQUIRES(mutex_) {
        return peers_[static_cast<size_t>(entry.first)].state != State::Connecting;
    });
    auto next = attempts_.end();
    for (auto one = attempts_.begin(); one != attempts_.end(); ++one) {
        if (one->second.is_under_way) continue;
        if (next == attempts_.end() || one->second.next < next->second.next) next = one;
    }
    return next;
}

void Connector::connect_all(Worker& worker) noexcept {
    Lock lock(mutex_);
    for (;;) {
        const auto due = next_attempt();
        if (due == attempts_.end()) break;
        const auto [peer, attempt] = *due;
        if (attempt.next > Deadline::Clock::now()) {
            if (is_awaited_) break;
            is_awaited_ = true;
            changed_.wait(lock, Deadline::at(attempt.next));
            is_awaited_ = false;
            continue;
        }
        // Should it fail, others come first.
        Attempt then = attempt;
        then.next += std::chrono::milliseconds(attempt.timeout_ms);
        then.timeout_ms = std::min(2 * attempt.timeout_ms, max_timeout_ms);
        then.strangers.clear();
        due->second.is_under_way = true;
        if (next_attempt() != attempts_.end()) keep_connecting();
        const Endpoint endpoint = peers_[static_cast<size_t>(peer)].endpoint;
        lock.unlock();
        connect(peer, endpoint, attempt, std::move(then));
        lock.lock();
    }
    worker.is_running = false;
}

void Connector::connect(int peer, const Endpoint& endpoint, const Attempt& attempt,
                        Attempt then) noexcept {
    try {
        TUTTI_FAULT_POINT("transport.connect");
        shake_hands(peer, endpoint, attempt, then);
    } catch (...) {
        call_again(peer, std::move(then), current_status());
    }
}

// Unless nothing can come of it. The other one is asked to call: it may be hidden.
void Connector::call_again(int peer, Attempt attempt, Status why) noexcept {
    bool asks = false;
    {
        const Lock lock(mutex_);
        State& state = peers_[static_cast<size_t>(peer)].state;
        if (is_ending_ || (state != State::Connecting && state != State::ShakingHands)) return;
        state = State::None;
        const bool is_over = attempt.until.expired() || is_closed_way(peer, why);
        if (why.code == TUTTI_ERR_NETWORK && !is_over && !world_.is_gone(peer)) {
            hidden_.insert(way_to(peer));
            const Status failure = start_connecting(peer, std::move(attempt));
            asks = failure.ok();
            if (!asks) why = failure;
        }
    }
    if (asks) return world_.ask_to_connect(peer);
    fail(peer, std::move(why));
}

// False if it has come otherwise: there is a connection already, or there shall be none.
bool Connector::advance(int peer, State from, State to) {
    const Lock lock(mutex_);
    State& state = peers_[static_cast<size_t>(peer)].state;
    if (is_ending_ || state != from) return false;
    state = to;
    return true;
}

// Finds somebody who answers, and leaves it to the loop to hear who: one that is stopped answers by
// its system alone, and may do so for long.
void Connector::shake_hands(int peer, const Endpoint& endpoint, const Attempt& attempt,
                            Attempt& then) {
    auto addresses =
        net::numeric_addresses(routes_.by_rank[static_cast<size_t>(peer)], endpoint.port);
    std::erase_if(addresses, [&](const net::Address& one) {
        return std::ranges::find(attempt.strangers, one.host()) != attempt.strangers.end();
    });
    const bool is_last = addresses.size() <= 1;
    const Deadline deadline = Deadline::after_ms(attempt.timeout_ms).or_earlier(attempt.until);
    net::Socket connection = net::Socket::connect(addresses, deadline, cancel_.get());
    if (const int lack = lacks_descriptors(); lack != 0) throw too_few_descriptors(lack);
    if (!advance(peer, State::Connecting, State::ShakingHands)) return;
    const Handshake handshake{magic, version, static_cast<uint32_t>(world_.rank()), 0,
                              endpoint.secret};
    connection.send_all(wire_bytes(handshake), deadline, cancel_.get());
    // A rank that is stopped is noticed elsewhere; at the last address there is time.
    const Deadline until = is_last ? Deadline::never() : Deadline::after_ms(attempt_ms);
    then.strangers = attempt.strangers;
    const auto greeted = std::make_shared<Greeted>(
        Greeted{{}, {}, connection.remote_address(), is_last, until, then});
    loop_->post([this, peer, greeted, descriptor = connection.release()] {
        await_answer(peer, std::move(*greeted), descriptor);
    });
}

// Further connections go with a first one that this rank has made.
void Connector::want_further(int peer, const net::Socket& first) noexcept {
    if (!events_.joined || (!further_.connections && world_.same_host(peer))) return;
    try {
        net::Address from = net::local_address_of(first.descriptor());
        from.set_port(0);
        const net::Address to = net::remote_address_of(first.descriptor());
        auto own = net::numeric_addresses(further_.own, 0);
        std::erase_if(own, [&](const auto& one) { return one.family() != from.family(); });
        const size_t all = std::min<size_t>(
            FurtherConnections::most,
            further_.connections ? static_cast<size_t>(*further_.connections) : own.size());
        if (all < 2) return;
        const auto others = net::numeric_addresses(way_to(peer), to.port());
        const Lock lock(mutex_);
        if (is_ending_) return;
        for (Way& way : further_ways({from, to}, own, others, all - 1)) {
            further_calls_.push_back({peer, std::move(way)});
        }
        keep_running(further_worker_, &Connector::call_all_further);
    } catch (...) {
        log(LogLevel::Debug, "transport: ", current_status().message);
    }
}

void Connector::call_all_further(Worker& worker) noexcept {
    Lock lock(mutex_);
    while (!further_calls_.empty()) {
        const FurtherCall call = further_calls_.front();
        further_calls_.pop_front();
        lock.unlock();
        call_further(call);
        lock.lock();
    }
    worker.is_running = false;
}

// Descriptors that further connections leave free: for the first ones to all ranks, and others.
int Connector::descriptors_kept() const {
    return world_.size() + descriptors_for_others;
}

// The process that answers proves later that it is that rank.
void Connector::call_further(const FurtherCall& call) noexcept {
    try {
        if (world_.is_gone(call.peer) || !has_spare_descriptors(descriptors_kept())) return;
        const Deadline deadline = Deadline::after_ms(further_ms);
        const net::Address* const from = call.way.from ? &*call.way.from : nullptr;
        net::Socket connection =
            net::Socket::connect_once(std::span(&call.way.to, 1), deadline, cancel_.get(), from);
        Handshake handshake{magic, version, static_cast<uint32_t>(world_.rank()), 1, {}};
        {
            const Lock lock(mutex_);
            handshake.secret = peers_[static_cast<size_t>(call.peer)].endpoint.secret;
        }
        connection.send_all(wire_bytes(handshake), deadline, cancel_.get());
        events_.joined(call.peer, std::move(connection), own_.secret);
    } catch (...) {
        log(LogLevel::Debug, "transport: ", current_status().message);
    }
}

}  // namespace tutti
