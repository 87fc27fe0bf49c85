// The connections of a store server's clients: what they send goes to the responder, what it has
// for them goes out in one write. Everything but the count of joined clients belongs to the loop
// thread. A connection that breaks the protocol or a limit is closed; the others never notice.
#include "tcp_server.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/resource_limits.hpp"
#include "net/descriptor.hpp"
#include "net/pending_peers.hpp"
#include "net/stream.hpp"
#include "responder.hpp"

namespace tutti {
namespace {

// A server that ran out of descriptors could not even tell its clients: it is full before that, and
// leaves some of those that are free now to the rest of the process.
StoreLimits within_descriptors(StoreLimits limits) {
    const size_t free = net::free_descriptors();
    limits.connections = std::min(limits.connections, std::max<size_t>(free - free / 8, 1));
    return limits;
}

void check_limit(size_t limit, size_t most, const char* what) {
    if (limit == 0 || limit > most)
        throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat("a store server with a limit of ", limit, ' ',
                                                    what, " is not possible; at most ", most));
}

}  // namespace

class TcpServer::Service {
public:
    Service(std::vector<net::ListenSocket> sockets, const StoreLimits& limits)
        : limits_(within_descriptors(limits)),
          lacks_descriptors_(limits_.connections < limits.connections),
          responder_(limits_, {[this](int64_t count) { joined(count); }, [this] { recount(); }}) {
        std::vector<int> descriptors;
        for (net::ListenSocket& socket : sockets) descriptors.push_back(socket.release());
        loop_.run([&] {
            listener_ = std::make_unique<net::Listener>(
                loop_, std::move(descriptors), [this](int fd) { accepted(fd); },
                [this](const Status& status) { return exhausted(status); });
            keep_spare();
        });
    }

    ~Service() {
        loop_.run([this] {
            listener_.reset();
            connections_.clear();
            spare_.reset();
        });
    }

    int64_t wait_for_joined(int64_t wanted, const Deadline& deadline) {
        Lock lock(mutex_);
        while (joined_ < wanted && exhaustion_.ok() && !deadline.expired())
            joined_changed_.wait(lock, deadline);
        if (joined_ < wanted && !exhaustion_.ok()) throw Error(exhaustion_);
        return joined_;
    }

    void turn_all_away() {
        loop_.run([this] {
            turns_all_away_ = true;
            std::vector<Connection*> let_in;
            for (const auto& [connection, owned] : connections_) {
                if (!connection->turned_away) let_in.push_back(connection);
            }
            for (Connection* const one : let_in) drop(*one);  // it comes again
        });
    }

    Status lack() {
        const Lock lock(mutex_);
        return lack_;
    }

private:
    struct Connection : StoreClient {
        explicit Connection(const StoreLimits& limits) : parser(limits) {}
        std::unique_ptr<net::Stream> stream;
        protocol::RequestParser parser;
        const Deadline introduction = Deadline::after_ms(store_limits::introduction_ms);
    };

    void accepted(int fd) noexcept {
        net::Descriptor descriptor(fd);
        try {
            auto owned = std::make_unique<Connection>(limits_);
            Connection* connection = owned.get();
            net::Stream::Events events = {
                [this, connection](auto bytes) { received(*connection, bytes); },
                [this, connection](const Status&) { drop(*connection); }};
            connection->stream = net::Stream::adopt(loop_, descriptor.release(), std::move(events));
            connections_.emplace(connection, std::move(owned));
            keep_spare();  // there may be room by now
            if (is_in_place_of_spare_ || turns_all_away_) return turn_away(*connection);
            make_room(*connection);
            if (exhausted_) note_exhaustion({});
        } catch (...) {
            log(LogLevel::Warning, "store server: ", current_status().message);
        }
    }

    // Where the server is full, the oldest stranger's place goes to the newest connection; if all
    // others are clients, the newest is one too many.
    void make_room(Connection& newest) {
        const bool is_full = connections_.size() - turned_away_.size() > limits_.connections;
        const auto oldest = is_full ? strangers_.take_oldest() : std::nullopt;
        if (oldest) drop_stranger(**oldest);
        if (is_full && !oldest) {
            if (lacks_descriptors_)
                note_lack(system_error(TUTTI_ERR_STORE, "no place is left", EMFILE).status());
            return turn_away(newest);
        }
        if (const auto another = strangers_.add(&newest)) drop_stranger(**another);
    }

    void drop_stranger(Connection& connection) noexcept {
        log(LogLevel::Warning, "store server: closing a connection that has not said what it is");
        drop(connection);
    }

    void keep_spare() noexcept {
        if (spare_.valid()) return;
        spare_ = net::Descriptor(open_tracked([] { return ::open("/", O_PATH | O_CLOEXEC); }));
        if (spare_.valid()) is_in_place_of_spare_ = false;
    }

    // The next connection takes its place.
    void give_up_spare() noexcept {
        spare_.reset();
        is_in_place_of_spare_ = true;
    }

    // True if a connection was closed for the next one, or that one is to be turned away.
    bool exhausted(const Status& status) noexcept {
        if (const auto oldest = strangers_.take_oldest()) {
            drop_stranger(**oldest);
        } else if (spare_.valid()) {
            note_exhaustion(status);
            note_lack(status);
            give_up_spare();
        } else if (!turned_away_.empty() && turned_away_.front()->introduction.expired()) {
            drop(*turned_away_.front());
            note_lack(status);
            give_up_spare();
        } else {
            note_exhaustion(status);
            return false;
        }
        return true;
    }

    // For who waits for clients in this process: no more can come.
    void note_exhaustion(const Status& status) noexcept {
        exhausted_ = !status.ok();
        const Lock lock(mutex_);
        exhaustion_ = status;
        if (!status.ok()) joined_changed_.notify_all();
    }

    void note_lack(const Status& status) noexcept {
        const Lock lock(mutex_);
        lack_ = status;
    }

    // It stays until it has said what it is, or until too many others are turned away.
    void turn_away(Connection& connection) {
        connection.turned_away = true;
        turned_away_.push_back(&connection);
        if (turned_away_.size() > store_limits::turned_away_at_once) drop(*turned_away_.front());
    }

    void received(Connection& connection, std::span<const std::byte> bytes) noexcept {
        const bool was_known = connection.validated;
        try {
            while (connection.failure.empty()) {
                auto request = connection.parser.next(bytes);
                if (!request) break;
                responder_.take(connection, std::move(*request));
                if (connection.answers.size() >= store_limits::gathered_answer_bytes)
                    send(connection);
            }
        } catch (...) {
            responder_.fail(connection, current_status().message);
        }
        if (!was_known && connection.validated) strangers_.remove(&connection);
        // Requests that have no answer often follow each other.
        answered_ = connection.answers.empty() ? 0 : answered_ + 1;
        loop_.let_gather(answered_ < store_limits::answers_until_prompt);
        recount(connection);
        responder_.admit(connection);
        responder_.resume();
        send_all();
    }

    void send(Connection& connection) noexcept {
        if (!connection.answers.empty()) connection.stream->write(connection.answers.take());
        recount(connection);
    }

    // Sends to every client that got answers; these may be others than the one who asked.
    void send_all() noexcept {
        while (StoreClient* client = responder_.next_touched()) {
            auto& connection = static_cast<Connection&>(*client);
            send(connection);
            if (connection.failure.empty()) continue;
            log(LogLevel::Warning,
                "store server: closing a client's connection: ", connection.failure);
            drop(connection);
        }
    }

    void drop(Connection& connection) noexcept {
        responder_.forget(connection);
        strangers_.remove(&connection);
        std::erase(turned_away_, &connection);
        connections_.erase(&connection);
        keep_spare();
    }

    void recount(Connection& connection) noexcept {
        connection.unread = connection.stream->queued();
        responder_.hold(connection, connection.parser.held_bytes() + connection.unread +
                                        connection.answers.size());
    }

    void recount() noexcept {
        for (const auto& [connection, owned] : connections_) recount(*connection);
    }

    void joined(int64_t count) {
        const Lock lock(mutex_);
        joined_ = count;
        joined_changed_.notify_all();
    }

    const StoreLimits limits_;
    const bool lacks_descriptors_;  // for as many connections as it was to have
    Responder responder_;
    std::unordered_map<Connection*, std::unique_ptr<Connection>> connections_;
    net::PendingPeers<Connection*> strangers_;
    std::deque<Connection*> turned_away_;
    std::unique_ptr<net::Listener> listener_;
    net::Descriptor spare_;  // given up for a caller that is to be turned away
    bool turns_all_away_ = false;
    bool is_in_place_of_spare_ = false;  // that is who comes now

    uint64_t answered_ = 0;  // of what came last, in a row

    Mutex mutex_;
    Condition joined_changed_;
    int64_t joined_ TUTTI_GUARDED_BY(mutex_) = 0;
    Status exhaustion_ TUTTI_GUARDED_BY(mutex_);  // since when nobody could be let in
    Status lack_ TUTTI_GUARDED_BY(mutex_);        // the last for which one was turned away
    bool exhausted_ = false;                      // the same, for the loop thread

    net::Loop loop_{"tutti-store"};  // the last member: it ends before what its thread uses
};

TcpServer::TcpServer(std::vector<net::ListenSocket> sockets, const StoreLimits& limits)
    : port_(sockets.front().port()),
      only_this_host_(
          std::ranges::all_of(sockets,
                              [](const net::ListenSocket& one) {
                                  const int descriptor = one.descriptor();
                                  return net::local_address_of(descriptor).is_loopback();
                              })),
      service_(std::make_unique<Service>(std::move(sockets), limits)) {}

TcpServer::~TcpServer() = default;

void TcpServer::turn_all_away() {
    service_->turn_all_away();
}

Status TcpServer::lack() const {
    return service_->lack();
}

int64_t TcpServer::wait_for_joined(int64_t wanted, const Deadline& deadline) {
    return service_->wait_for_joined(wanted, deadline);
}

void check_limits(const StoreLimits& limits) {
    check_limit(limits.key_bytes, store_limits::max_key_bytes, "bytes of a key");
    check_limit(limits.value_bytes, store_limits::max_value_bytes, "bytes of a value");
    check_limit(limits.keys_per_request, store_limits::max_keys_per_request, "keys in a request");
    check_limit(limits.connections, store_limits::max_connections, "connections");
    check_limit(limits.memory_bytes, store_limits::max_memory_bytes, "bytes of memory");
}

}  // namespace tutti
