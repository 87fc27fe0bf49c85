// The membership tells why a connection closed. Until then its messages stay under way, so a caller
// learns of the rank that died, not of the neighbour that closed its connections because of that.
#include "pool.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/resource_limits.hpp"
#include "membership/address.hpp"
#include "net/line.hpp"
#include "net/wait.hpp"
#include "transport/delivery.hpp"
#include "transport/shortage.hpp"

namespace tutti::tcp {

namespace {

constexpr size_t max_looked_at = 3;  // connections, one after the other; beyond, epoll is faster
constexpr int max_spins = 2000;

int open_epoll() {
    const int epoll = open_tracked([] { return epoll_create1(EPOLL_CLOEXEC); });
    if (epoll < 0) throw system_error(TUTTI_ERR_OUT_OF_MEMORY, "epoll_create1", errno);
    return epoll;
}

// None where ranks of this host outnumber its processors.
int spins_in(const World& world) {
    int here = 0;
    for (int rank = 0; rank < world.size(); ++rank) here += world.same_host(rank) ? 1 : 0;
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
    return here <= CPU_COUNT(&allowed) ? max_spins : 0;
}

FurtherConnections further_connections() {
    FurtherConnections further;
    if (const auto number =
            environment_number("TUTTI_TCP_CONNECTIONS", 1, FurtherConnections::most)) {
        further.connections = static_cast<int>(*number);
    }
    further.own = membership::address_of_each_interface();
    return further;
}

// Inside a host there is no congestion, and some ways to control it pace what is sent.
void hurry_inside_host(const net::Socket& socket) {
    if (socket.local_address() != socket.remote_address()) return;
    constexpr std::string_view control = "reno";
    setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_CONGESTION, control.data(), control.size());
}

}  // namespace

Pool::Pool(World& world) : world_(world), sockets_(open_epoll()), loop_(net::Loop::shared()) {
    for (int rank = 0; rank < world.size(); ++rank) {
        links_.push_back(std::make_unique<Link>(rank, *this));
    }
    waiting_.emplace([this] { return advance(); }, sockets_.get(), spins_in(world));
    connector_.emplace(
        world,
        Connector::Events{
            [this](int peer, net::Socket socket) { connected(peer, std::move(socket)); },
            [this](int peer, const Status& why) { not_connected(peer, why); },
            [this](int peer, const Status& lack) { give_up(peer, lack); },
            [this](int peer, net::Socket socket, const auto& proof) {
                join(peer, std::move(socket), proof);
            }},
        further_connections());
    loop_->run([this] {
        looks_.emplace(*loop_, [this] { close_dead(); });
        looks_->start(net::line_look_ms(), net::line_look_ms());
    });
}

Pool::~Pool() {
    connector_.reset();
    loop_->run([this] { looks_.reset(); });
    waiting_->stop();
    {
        const Lock lock(mutex_);
        is_ending_ = true;
    }
    flush();
}

Mailbox& Pool::attach(Membership& group, const Deadline& deadline) {
    waiting_->start();  // before a connection needs it: too little memory ends the opening
    connector_->exchange_addresses(group, "transport/tcp", deadline);
    const Lock lock(mutex_);
    for (const auto& [peer, lack] : lacks_) {
        if (group.rank_of(peer) >= 0) throw Error(lack.code, lack.message, group.rank());
    }
    Mailbox* const mine = mailbox(group.group_id());
    mine->attach(group);
    return *mine;
}

void Pool::detach(Mailbox& mailbox) noexcept {
    Lock lock(mutex_);
    while (mailbox.requests > 0) mailbox.emptied.wait(lock);
    for (const Arrival& arrival : mailbox.arrivals()) arrival.link->abandon(arrival);
    ended_.add(mailbox.group());
    mailboxes_.erase(mailbox.group());
}

// Messages.

template <typename Begin>
void Pool::post(Mailbox& mailbox, Transfer& transfer, int peer, Slot slot, void* data, size_t bytes,
                Begin&& begin) {
    auto request = std::make_unique<Request>(*this, mailbox, transfer, peer, slot, data, bytes);
    {
        const Lock lock(mutex_);
        mailbox.check_not_aborted(slot);
        Request& posted = *request;
        mailbox.enter(posted);
        transfer.hold = std::move(request);
        begin(posted);
    }
    if (!slot.is_collective()) waiting_->employ();
    tell();
}

void Pool::send(Mailbox& mailbox, Transfer& transfer, int peer, Slot slot, const void* data,
                size_t bytes) {
    const int to = mailbox.members()->world_rank(peer);
    bool connects = false;
    const auto begin = [&](Request& request) TUTTI_REQUIRES(mutex_) {
        if (mailbox.is_gone(to)) return mailbox.finish(request, mailbox.why_gone(to), 0);
        connects = !link(to).is_open();
        link(to).send(request);
    };
    post(mailbox, transfer, to, slot, const_cast<void*>(data), bytes, begin);
    if (connects) connector_->ensure_connected(to);
}

void Pool::receive(Mailbox& mailbox, Transfer& transfer, int peer, Slot slot, void* data,
                   size_t bytes) {
    const int from = peer < 0 ? peer : mailbox.members()->world_rank(peer);
    const auto begin = [&](Request& request) {
        if (Arrival* const arrival = mailbox.find(request)) {
            arrival->link->take(*arrival, request);
        } else if (mailbox.is_gone(from)) {
            mailbox.finish(request, mailbox.why_gone(from), 0);
        } else {
            mailbox.await(request);
        }
    };
    post(mailbox, transfer, from, slot, data, bytes, begin);
}

void Pool::flush(Mailbox& mailbox, int peer) noexcept {
    {
        const Lock lock(mutex_);
        link(mailbox.members()->world_rank(peer)).flush();
    }
    tell();
}

void Pool::take_back(Mailbox& mailbox, int peer, Slot slot) noexcept {
    {
        const Lock lock(mutex_);
        link(mailbox.members()->world_rank(peer)).take_back_sent(mailbox.group(), slot);
    }
    tell();
}

void Pool::abort(Mailbox& mailbox, const Status& status) noexcept {
    {
        const Lock lock(mutex_);
        if (!mailbox.aborted.ok()) return;
        mailbox.aborted = status;
        mailbox.finish_all(status);
        mailbox.tagged().aborted(status);
    }
    tell(true);
}

void Pool::abort_messages(Mailbox& mailbox, const Status& status) noexcept {
    {
        const Lock lock(mutex_);
        if (!mailbox.messages_aborted.ok()) return;
        mailbox.messages_aborted = status;
        mailbox.finish_messages(status);
        mailbox.tagged().aborted(status);
    }
    tell(true);
}

// What it sent comes by a connection, if there is one, and its goodbye behind that. The end of a
// connection has been told, or is going to be.
void Pool::left(Mailbox& mailbox, int peer) noexcept {
    const int who = mailbox.members()->world_rank(peer);
    const bool has_connection = connector_->has_begun(who);
    {
        const Lock lock(mutex_);
        mailbox.left.insert(who);
        if (!has_connection || link(who).is_closed()) mailbox.lose(who);
    }
    tell();
}

// After a failure the others shall learn of that, not of ranks that leave because of it.
void Pool::leave(Mailbox& mailbox) noexcept {
    {
        const Lock lock(mutex_);
        if (!mailbox.aborted.ok()) return;
        const Membership& members = *mailbox.members();
        for (int rank = 0; rank < members.size(); ++rank) {
            if (rank != members.rank()) link(members.world_rank(rank)).say_goodbye(mailbox.group());
        }
    }
    tell();
}

// Here nobody is told anything: the owner may hold its locks.

void Pool::withdraw(Request& request) noexcept {
    const Lock lock(mutex_);
    if (!request.has_entered) return;
    request.mailbox.drop(request);
    if (--request.mailbox.requests == 0) request.mailbox.emptied.notify_all();
}

bool Pool::stop(Request& request) noexcept {
    const Lock lock(mutex_);
    if (!request.is_pending || request.link == nullptr) return false;
    if (!request.link->take_back(request)) return false;
    request.link = nullptr;
    request.mailbox.drop(request);
    return true;
}

// Moving.

bool Pool::advance() noexcept {
    bool has_moved = false;
    if (mutex_.try_lock()) {
        has_moved = move();
        const auto told = news_.take();
        mutex_.unlock();
        if (told) told->happened();
    }
    tell();
    return has_moved;
}

bool Pool::move() {
    bool has_moved = false;
    if (open_.size() <= max_looked_at) {
        for (size_t index = open_.size(); index-- > 0;) has_moved |= open_[index]->advance();
        return has_moved;
    }
    std::array<epoll_event, 32> events;
    const int count =
        ::epoll_wait(sockets_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int index = 0; index < count; ++index) {
        has_moved |= static_cast<Link*>(events[static_cast<size_t>(index)].data.ptr)->advance();
    }
    return has_moved;
}

void Pool::tell(bool however_deep) noexcept {
    if (completions_.tell(however_deep)) waiting_->wake();
    while (news_.any()) {
        std::shared_ptr<TaggedMessages::Listener> told;
        {
            const Lock lock(mutex_);
            told = news_.take();
        }
        if (told) told->happened();
    }
}

Mailbox* Pool::mailbox(uint32_t group) TUTTI_NO_THREAD_SAFETY_ANALYSIS {
    if (const auto found = mailboxes_.find(group); found != mailboxes_.end()) {
        return found->second.get();
    }
    if (ended_.contains(group)) return nullptr;
    auto& made = mailboxes_[group];
    made = std::make_unique<Mailbox>(group, completions_, news_, waiting_->unattended());
    return made.get();
}

void Pool::said_goodbye(int peer, uint32_t group) {
    if (Mailbox* const there = mailbox(group)) there->lose(peer);
}

// Connections.

void Pool::watch(Link& link, int socket, int operation, const Wants& wants) {
    epoll_event event{};
    event.events = (wants.receive ? EPOLLIN : 0U) | (wants.send ? EPOLLOUT : 0U);
    event.data.ptr = &link;
    if (::epoll_ctl(sockets_.get(), operation, socket, &event) != 0) {
        throw system_error(TUTTI_ERR_OUT_OF_MEMORY, "epoll_ctl", errno);
    }
}

// A socket of which nothing is wanted is not watched: its end would be told for ever.
void Pool::wants(Link& link, int socket, const Wants& now, const Wants& before) {
    const auto is_any = [](const Wants& one) { return one.receive || one.send; };
    if (!is_any(now)) return closes(socket);
    watch(link, socket, is_any(before) ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, now);
}

void Pool::closes(int socket) {
    ::epoll_ctl(sockets_.get(), EPOLL_CTL_DEL, socket, nullptr);
}

// Waiting messages are sent by the thread that moves the connections: this thread has something
// else to do.
void Pool::connected(int peer, net::Socket socket) noexcept {
    try {
        adopt(peer, std::move(socket));
    } catch (...) {
        const Status why = current_status();
        const bool is_lack = why.code == TUTTI_ERR_OUT_OF_MEMORY;
        {
            const Lock lock(mutex_);
            link(peer).close(is_lack ? "" : why.message);
            if (is_lack) lacks_.emplace(peer, why);
        }
        if (is_lack) give_up(peer, why);
        tell();
    }
}

void Pool::adopt(int peer, net::Socket socket) {
    hurry_inside_host(socket);
    waiting_->start();
    const Lock lock(mutex_);
    Link& there = link(peer);
    if (there.is_closed()) return;
    there.adopt(std::move(socket));
    watch(there, there.socket(), EPOLL_CTL_ADD, {});
    open_.push_back(&there);
}

// Without it the data take the first connection.
void Pool::join(int peer, net::Socket socket,
                const std::optional<membership::Token>& proof) noexcept {
    try {
        hurry_inside_host(socket);
        const Lock lock(mutex_);
        Link& there = link(peer);
        const int added = there.add_stripe(std::move(socket), proof);
        if (added < 0) return;
        try {
            watch(there, added, EPOLL_CTL_ADD, {});
        } catch (...) {
            there.drop_last_stripe();
            throw;
        }
    } catch (...) {
        log(LogLevel::Debug, "tcp: ", current_status().message);
    }
}

// A rank that goes later is told of again.
void Pool::not_connected(int peer, const Status& why) noexcept {
    if (!world_.is_gone(peer)) return world_.suspect(why);
    {
        const Lock lock(mutex_);
        link(peer).close(why.message);
    }
    tell();
}

void Pool::give_up(int peer, const Status& lack) noexcept {
    std::map<uint32_t, OwnPart> groups;
    {
        const Lock lock(mutex_);
        for (const auto& [group, mailbox] : mailboxes_) {
            const Membership* const members = mailbox->members();
            if (members == nullptr) continue;
            const bool is_for = peer == membership::nobody || members->rank_of(peer) >= 0;
            if (is_for) groups.emplace(group, OwnPart(*members));
        }
    }
    report_shortage(world_, groups, lack);
}

void Pool::closed(Link& link, const std::string& reason) TUTTI_NO_THREAD_SAFETY_ANALYSIS {
    if (std::erase(open_, &link) > 0) {
        closes(link.socket());
    }
    const int peer = link.peer();
    for (const auto& [group, mailbox] : mailboxes_) {
        mailbox->forget(link);
        if (mailbox->left.contains(peer)) mailbox->lose(peer);
    }
    if (reason.empty() || is_ending_ || world_.is_gone(peer)) return;
    completions_.then([this, peer, reason] {
        world_.suspect({TUTTI_ERR_PEER_LOST, peer, 0,
                        cat("the connection between rank ", world_.rank(), " and rank ", peer,
                            " broke: ", reason)});
    });
}

// On the loop's thread.
void Pool::close_dead() noexcept {
    {
        const Lock lock(mutex_);
        for (size_t index = open_.size(); index-- > 0;) {
            Link& link = *open_[index];
            if (world_.same_host(link.peer())) continue;
            if (std::ranges::any_of(link.sockets(), net::is_dead))
                link.close(errno_text(ETIMEDOUT));
        }
    }
    tell();
}

// The end.

bool Pool::has_output() {
    return std::ranges::any_of(open_, [this](const Link* one) {
        return one->has_output() && world_.loss_of(one->peer()).ok();
    });
}

void Pool::flush() noexcept {
    const Deadline deadline = Deadline::after_ms(world_.leave_ms());
    const Lock lock(mutex_);
    while (has_output() && !deadline.expired()) {
        net::await_input(sockets_.get(), deadline);
        move();
    }
    std::map<int, int> ranks;  // by socket
    std::vector<int> sockets;
    for (const Link* const one : open_) {
        for (const int socket : one->sockets()) {
            sockets.push_back(socket);
            ranks[socket] = one->peer();
        }
    }
    deliver(
        sockets, [&](int socket) { return world_.loss_of(ranks.at(socket)).ok(); }, deadline);
}

}  // namespace tutti::tcp
