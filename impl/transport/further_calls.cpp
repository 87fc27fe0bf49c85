#include "further_calls.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/plain.hpp"
#include "base/resource_limits.hpp"
#include "handshake.hpp"
#include "net/address.hpp"

namespace tutti {

namespace {

constexpr int64_t further_ms = 1000;  // what a further connection may take
constexpr int descriptors_for_others = 64;

}  // namespace

FurtherCalls::FurtherCalls(const World& world, FurtherConnections wanted,
                           const membership::Token& own, Joined joined, int cancel)
    : world_(world),
      wanted_(std::move(wanted)),
      own_(own),
      joined_(std::move(joined)),
      cancel_(cancel),
      workers_(1, "tutti-connect", [this](size_t worker) { call_all(worker); }) {}

void FurtherCalls::end() noexcept {
    const Lock lock(mutex_);
    is_ending_ = true;
    calls_.clear();
}

void FurtherCalls::join() noexcept {
    Lock lock(mutex_);
    auto threads = workers_.take();
    lock.unlock();
    for (std::thread& thread : threads) {
        if (thread.joinable()) thread.join();
    }
}

// Further connections leave descriptors free: for the first ones to all ranks, and others.
bool FurtherCalls::may_open_more() const {
    return has_spare_descriptors(world_.size() + descriptors_for_others);
}

void FurtherCalls::call(int peer, const std::vector<std::string>& way,
                        const membership::Token& secret, const net::Socket& first) noexcept {
    if (!joined_ || (!wanted_.connections && world_.same_host(peer))) return;
    try {
        add(peer, way, secret, first);
    } catch (...) {
        log(LogLevel::Debug, "transport: ", current_status().message);
    }
}

void FurtherCalls::add(int peer, const std::vector<std::string>& way,
                       const membership::Token& secret, const net::Socket& first) {
    net::Address from = net::local_address_of(first.descriptor());
    from.set_port(0);
    const net::Address to = net::remote_address_of(first.descriptor());
    auto own = net::numeric_addresses(wanted_.own, 0);
    std::erase_if(own, [&](const auto& one) { return one.family() != from.family(); });
    const size_t all = std::min<size_t>(
        FurtherConnections::most,
        wanted_.connections ? static_cast<size_t>(*wanted_.connections) : own.size());
    if (all < 2) return;
    const auto others = net::numeric_addresses(way, to.port());
    const Lock lock(mutex_);
    if (is_ending_) return;
    for (Way& one : further_ways({from, to}, own, others, all - 1)) {
        calls_.push_back({peer, secret, std::move(one)});
    }
    workers_.add();
}

void FurtherCalls::call_all(size_t worker) noexcept {
    Lock lock(mutex_);
    while (!calls_.empty()) {
        const Call next = calls_.front();
        calls_.pop_front();
        lock.unlock();
        call(next);
        lock.lock();
    }
    workers_.end(worker);
}

// The process that answers proves later that it is that rank.
void FurtherCalls::call(const Call& call) noexcept {
    try {
        if (world_.is_gone(call.peer) || !may_open_more()) return;
        const Deadline deadline = Deadline::after_ms(further_ms);
        const net::Address* const from = call.way.from ? &*call.way.from : nullptr;
        net::Socket connection =
            net::Socket::connect_once(std::span(&call.way.to, 1), deadline, cancel_, from);
        const Handshake handshake{
            .rank = static_cast<uint32_t>(world_.rank()), .joins = 1, .secret = call.secret};
        connection.send_all(wire_bytes(handshake), deadline, cancel_);
        joined_(call.peer, std::move(connection), own_);
    } catch (...) {
        log(LogLevel::Debug, "transport: ", current_status().message);
    }
}

void FurtherCalls::accept(int peer, const membership::Token& secret,
                          net::Socket connection) noexcept {
    try {
        if (!joined_ || !may_open_more()) return;
        connection.send_all(std::as_bytes(std::span(secret)), Deadline::after_ms(further_ms),
                            cancel_);
        joined_(peer, std::move(connection), std::nullopt);
    } catch (...) {
        log(LogLevel::Debug, "transport: ", current_status().message);
    }
}

}  // namespace tutti
