#include "connector.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "base/log.hpp"
#include "base/plain.hpp"
#include "base/resource_limits.hpp"
#include "membership/invitation.hpp"
#include "net/address.hpp"

namespace tutti {

namespace {

constexpr size_t max_callers = 8;
constexpr int backlog = 4096;
constexpr int64_t answer_ms = Attempts::total.count();
constexpr int descriptors_beside = 1;  // what a connection's owner opens when it has it
// The answer to a call that the other side's replaces.
constexpr membership::Token dropped{};

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

Attempts::Failure failure_of(const Status& why) {
    return {why.code == TUTTI_ERR_NETWORK, net::is_refusal(why.system_errno)};
}

Status gone() {
    return {TUTTI_ERR_PEER_LOST, -1, 0, "it is gone"};
}

}  // namespace

Connector::Connector(World& world, Events events, FurtherConnections further)
    : world_(world),
      events_(std::move(events)),
      loop_(net::Loop::shared()),
      cancel_(make_event()),
      routes_(world.routes()),
      endpoints_(static_cast<size_t>(world.size())),
      attempts_(world.rank(), world.size(), routes_.by_rank),
      callers_(max_callers, "tutti-connect", [this](size_t worker) { call_all(worker); }) {
    auto sockets = net::ListenSocket::bind_each(routes_.listening_at, backlog);
    own_ = {sockets.front().port(), membership::random_token()};
    further_.emplace(world_, std::move(further), own_.secret, events_.joined, cancel_.get());
    std::vector<int> listening;
    for (auto& socket : sockets) listening.push_back(socket.release());
    Answers::Events answers{
        [this](int peer) {
            const Lock lock(mutex_);
            return attempts_.awaits_answer(peer);
        },
        [this](int peer, const Answers::Taken& taken, const membership::Token& answer,
               net::Stream& stream) { take_answer(peer, taken, answer, stream); },
        [this](int peer, Answers::Taken taken, Status why) {
            lose_answer(peer, std::move(taken), std::move(why));
        }};
    Acceptor::Events calls{
        [this](const std::string& received, net::Stream& stream) { hear_call(received, stream); },
        [this](const Status& exhaustion) { report_exhaustion(exhaustion); }};
    loop_->run([&] {
        answers_.emplace(*loop_, world_, std::move(answers));
        acceptor_.emplace(*loop_, std::move(listening), cancel_.get(), handshake_bytes,
                          std::move(calls));
    });
    world_.on_asked_to_connect([this](int peer) { call_back(peer); });
    world_.on_gone([this](int peer) { lose(peer); });
}

Connector::~Connector() {
    world_.on_asked_to_connect(nullptr);
    world_.on_gone(nullptr);
    std::vector<std::thread> callers;
    {
        const Lock lock(mutex_);
        attempts_.end();
        changed_.notify_all();
        callers = callers_.take();
    }
    further_->end();
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(cancel_.get(), &one, sizeof one);
    for (std::thread& thread : callers) {
        if (thread.joinable()) thread.join();
    }
    further_->join();
    loop_->run([this] {
        acceptor_.reset();
        answers_.reset();
    });
}

std::string Connector::address() const {
    return own_.text();
}

void Connector::set_address(int peer, const std::string& address) {
    std::map<int, net::Socket>::node_type early;
    {
        const Lock lock(mutex_);
        std::optional<Endpoint>& known = endpoints_[static_cast<size_t>(peer)];
        if (known) return;
        known = Endpoint::parse(peer, address);
        early = early_.extract(peer);
    }
    if (early) answer(peer, std::move(early.mapped()));
}

void Connector::exchange_addresses(Membership& group, const char* key, const Deadline& deadline) {
    const auto addresses = group.all_gather(key, address(), deadline);
    for (int rank = 0; rank < group.size(); ++rank) {
        if (rank == group.rank()) continue;
        set_address(group.world_rank(rank), addresses[static_cast<size_t>(rank)]);
    }
}

bool Connector::has_begun(int peer) {
    const Lock lock(mutex_);
    return attempts_.has_begun(peer);
}

// Events, and the actions that follow.

// The facts are those of the moment at which the lock is held, so no rank goes unnoticed.
template <typename Decide>
void Connector::follow(int peer, Status why, Decide&& decide) {
    using Action = Attempts::Action;
    Action action = Action::Nothing;
    {
        const Lock lock(mutex_);
        action = decide(Attempts::Known{Deadline::Clock::now(), world_.is_gone(peer)});
        if (action == Action::Nothing) return;
        changed_.notify_all();
        if (action == Action::Call || action == Action::CallAndAsk) {
            const Status failure = provide_caller(peer);
            if (!failure.ok()) {
                why = failure;
                action = Action::Fail;
            }
        }
    }
    if (action == Action::CallAndAsk) world_.ask_to_connect(peer);
    if (action == Action::Fail) fail(peer, std::move(why));
    if (action == Action::FailAsGone) fail(peer, gone());
}

// One more calls, if all are busy. Fails if none does and there can be no thread.
Status Connector::provide_caller(int peer) {
    if (is_awaited_) return {};
    try {
        callers_.add();
        return {};
    } catch (...) {
        attempts_.cancel(peer);
        return current_status();
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

void Connector::ensure_connected(int peer) {
    follow(peer, {}, [&](const Attempts::Known& known) TUTTI_REQUIRES(mutex_) {
        return attempts_.need(peer, known);
    });
}

void Connector::call_back(int peer) {
    follow(peer, {}, [&](const Attempts::Known& known) TUTTI_REQUIRES(mutex_) {
        return attempts_.asked(peer, has_address(peer), known);
    });
}

void Connector::lose(int peer) {
    follow(peer, {},
           [&](const Attempts::Known&) TUTTI_REQUIRES(mutex_) { return attempts_.lose(peer); });
}

// Incoming calls, on the loop's thread.

void Connector::hear_call(const std::string& received, net::Stream& stream) {
    const auto [peer, joins] = find_caller(received, world_.rank(), world_.size(), own_.secret);
    try {
        net::Socket connection(stream.release());
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
    Endpoint endpoint;
    {
        const Lock lock(mutex_);
        if (!attempts_.is_connected(peer) || attempts_.has_ended()) return;
        endpoint = endpoint_of(peer);
    }
    further_->accept(peer, endpoint.secret, std::move(connection));
}

void Connector::accept_peer(int peer, net::Socket connection) {
    {
        const Lock lock(mutex_);
        if (!has_address(peer)) {
            early_.insert_or_assign(peer, std::move(connection));
            return;
        }
    }
    answer(peer, std::move(connection));
}

void Connector::answer(int peer, net::Socket connection) {
    using Reply = Attempts::Reply;
    membership::Token answer = dropped;
    Reply reply = Reply::None;
    const int lack = lacks_descriptors();
    {
        const Lock lock(mutex_);
        const Attempts::Known known{Deadline::Clock::now(), world_.is_gone(peer)};
        reply = attempts_.called(peer, lack == 0, known);
        if (reply == Reply::Accept) answer = endpoint_of(peer).secret;
    }
    if (reply == Reply::None) return;
    if (reply == Reply::Lack) return fail(peer, too_few_descriptors(lack).status());
    try {
        connection.send_all(std::as_bytes(std::span(answer)), Deadline::after_ms(answer_ms),
                            cancel_.get());
    } catch (const Error&) {
        if (reply == Reply::Refuse) throw;  // this rank's call goes on
        return follow(peer, {}, [&](const Attempts::Known& known) TUTTI_REQUIRES(mutex_) {
            return attempts_.call_broke(peer, known);
        });
    }
    if (reply == Reply::Accept) events_.connected(peer, std::move(connection));
}

// If there is no descriptor even to hear who calls, the caller is taken for a rank.
void Connector::report_exhaustion(const Status& exhaustion) {
    bool expects_anyone = false;
    {
        const Lock lock(mutex_);
        for (int peer = 0; peer < world_.size(); ++peer) {
            const bool is_other = peer != world_.rank() && !world_.is_gone(peer);
            expects_anyone |= is_other && !attempts_.is_connected(peer);
        }
    }
    if (!expects_anyone) return;
    Status why = exhaustion;
    why.rank = world_.rank();
    why.message = cat("rank ", world_.rank(), " cannot let others connect: ", why.message);
    events_.lacking(membership::nobody, why);
}

// Outgoing calls, on threads that end when no more are wanted.

void Connector::call_all(size_t worker) noexcept {
    Lock lock(mutex_);
    while (const auto next = attempts_.next_time()) {
        if (*next > Deadline::Clock::now()) {
            if (is_awaited_) break;
            is_awaited_ = true;
            changed_.wait(lock, Deadline::at(*next));
            is_awaited_ = false;
            continue;
        }
        const Attempts::Call next_call = attempts_.begin_next();
        if (attempts_.next_time() && !is_awaited_) callers_.add();
        const Endpoint endpoint = endpoint_of(next_call.peer);
        lock.unlock();
        call(next_call, endpoint);
        lock.lock();
    }
    callers_.end(worker);
}

void Connector::call(const Attempts::Call& call, const Endpoint& endpoint) noexcept {
    try {
        TUTTI_FAULT_POINT("transport.connect");
        shake_hands(call, endpoint);
    } catch (...) {
        const Status why = current_status();
        follow(call.peer, why, [&](const Attempts::Known& known) TUTTI_REQUIRES(mutex_) {
            return attempts_.failed(call.peer, call.attempt.successor(), failure_of(why), known);
        });
    }
}

// Finds somebody who answers, and leaves it to the loop to hear who.
void Connector::shake_hands(const Attempts::Call& call, const Endpoint& endpoint) {
    const auto& [peer, attempt] = call;
    auto addresses = net::numeric_addresses(way_to(peer), endpoint.port);
    std::erase_if(addresses, [&strangers = attempt.strangers](const net::Address& one) {
        return std::ranges::find(strangers, one.host()) != strangers.end();
    });
    const Deadline deadline =
        Deadline::after_ms(attempt.timeout.count()).or_earlier(Deadline::at(attempt.until));
    net::Socket connection = net::Socket::connect(addresses, deadline, cancel_.get());
    if (const int lack = lacks_descriptors(); lack != 0) throw too_few_descriptors(lack);
    {
        const Lock lock(mutex_);
        if (!attempts_.reached(peer)) return;
    }
    const Handshake handshake{.rank = static_cast<uint32_t>(world_.rank()),
                              .secret = endpoint.secret};
    connection.send_all(wire_bytes(handshake), deadline, cancel_.get());
    // A rank that is stopped is noticed elsewhere; at the last address there is time.
    const bool is_last = addresses.size() <= 1;
    const Deadline until = is_last ? Deadline::never() : Deadline::after_ms(answer_ms);
    Attempts::Attempt next = attempt.successor();
    next.strangers = attempt.strangers;
    Answers::Taken taken{connection.remote_address(), is_last, until, std::move(next)};
    loop_->post([this, to = peer, taken, descriptor = connection.release()] {
        answers_->await(to, taken, descriptor);
    });
}

// Answers, on the loop's thread. The process that answers must be that rank: on another host the
// same address may lead elsewhere.
void Connector::take_answer(int peer, const Answers::Taken& taken, const membership::Token& answer,
                            net::Stream& stream) {
    if (answer == dropped) {
        const Status left{TUTTI_ERR_PEER_LOST, peer, 0, "it left before it had called"};
        return follow(peer, left, [&](const Attempts::Known& known) TUTTI_REQUIRES(mutex_) {
            return attempts_.replaced(peer, known);
        });
    }
    if (answer != own_.secret) {
        throw Error(TUTTI_ERR_NETWORK, cat("the process at ", taken.host, " is not rank ", peer),
                    peer);
    }
    net::Socket connection(stream.release());
    Endpoint endpoint;
    {
        const Lock lock(mutex_);
        if (!attempts_.proved(peer)) return;
        endpoint = endpoint_of(peer);
    }
    further_->call(peer, way_to(peer), endpoint.secret, connection);
    events_.connected(peer, std::move(connection));
}

// At another address the right one may answer.
void Connector::lose_answer(int peer, Answers::Taken taken, Status why) {
    const bool has_other_way = !taken.is_last && why.code != TUTTI_ERR_OUT_OF_MEMORY;
    bool is_other_process = false;
    follow(peer, why, [&](const Attempts::Known& known) TUTTI_REQUIRES(mutex_) {
        if (!attempts_.awaits_answer(peer)) return Attempts::Action::Nothing;
        if (has_other_way && !known.is_gone) {
            is_other_process = true;
            return attempts_.missed(peer, std::move(taken.next), std::move(taken.host), known);
        }
        return attempts_.failed(peer, std::move(taken.next), failure_of(why), known);
    });
    if (is_other_process) log(LogLevel::Debug, "transport: ", why.message);
}

}  // namespace tutti
