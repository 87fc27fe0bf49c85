// Answers PyTorch 2's store protocol. Everything but the count of joined clients belongs to the
// loop thread. A connection that breaks the protocol or a limit is closed; the others never notice.
#include "tcp_server.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "limits.hpp"
#include "net/stream.hpp"
#include "request_parser.hpp"
#include "table.hpp"

namespace tutti {

using protocol::Query;
using protocol::Request;
using protocol::Writer;

class TcpServer::Service {
public:
    explicit Service(std::vector<net::ListenSocket> sockets) {
        std::vector<int> descriptors;
        for (net::ListenSocket& socket : sockets) descriptors.push_back(socket.release());
        loop_.run([&] {
            listener_ = std::make_unique<net::Listener>(loop_, std::move(descriptors),
                                                        [this](int fd) { accepted(fd); });
        });
    }

    ~Service() {
        loop_.run([this] {
            listener_.reset();
            connections_.clear();
        });
    }

    int64_t wait_for_joined(int64_t wanted, const Deadline& deadline) {
        Lock lock(mutex_);
        while (joined_ < wanted && !deadline.expired()) joined_changed_.wait(lock, deadline);
        return joined_;
    }

private:
    struct Connection {
        std::unique_ptr<net::Stream> stream;
        protocol::RequestParser parser;
        bool validated = false;
        // While it waits: its keys, of which all before `position` have been seen. It is listed in
        // waiting_ under the key at `position`.
        std::vector<std::string> awaited;
        size_t position = 0;
        bool waiting = false;
        std::deque<Request> behind_wait;
    };

    void accepted(int fd) noexcept {
        net::Descriptor descriptor(fd);
        try {
            auto owned = std::make_unique<Connection>();
            Connection* connection = owned.get();
            net::Stream::Events events = {
                [this, connection](auto bytes) { received(*connection, bytes); },
                [this, connection](const Status&) { drop(*connection); }};
            connection->stream = net::Stream::adopt(loop_, descriptor.release(), std::move(events));
            connections_.emplace(connection, std::move(owned));
        } catch (...) {
            log(LogLevel::Warning, "store server: ", current_status().message);
        }
    }

    void received(Connection& connection, std::span<const std::byte> bytes) noexcept {
        try {
            while (auto request = connection.parser.next(bytes))
                take(connection, std::move(*request));
        } catch (...) {
            refuse(connection, current_status().message);
        }
        resume();
    }

    void refuse(Connection& connection, const std::string& why) noexcept {
        log(LogLevel::Warning, "store server: closing a client's connection: ", why);
        drop(connection);
    }

    void drop(Connection& connection) noexcept {
        stop_waiting(connection);
        std::erase(resumable_, &connection);
        connections_.erase(&connection);
    }

    // Throws where the connection must be closed.
    void take(Connection& connection, Request request) {
        if (!connection.validated) {
            if (request.query != Query::Validate ||
                request.number != int64_t{protocol::validation_magic})
                throw Error(TUTTI_ERR_STORE, "it did not begin as clients of PyTorch 2 do");
            connection.validated = true;
        } else if (request.query == Query::CancelWait) {
            stop_waiting(connection);
            connection.behind_wait.clear();
            send(connection, Writer().byte(protocol::wait_cancelled));
        } else if (connection.waiting || !connection.behind_wait.empty()) {
            if (connection.behind_wait.size() == store_limits::requests_behind_wait)
                throw Error(TUTTI_ERR_STORE, "too many requests behind a wait");
            connection.behind_wait.push_back(std::move(request));
        } else {
            answer(connection, request);
        }
    }

    // Answers what arrived behind waits that are over by now.
    void resume() noexcept {
        while (!resumable_.empty()) {
            Connection& connection = *resumable_.front();
            resumable_.pop_front();
            try {
                while (!connection.waiting && !connection.behind_wait.empty()) {
                    Request request = std::move(connection.behind_wait.front());
                    connection.behind_wait.pop_front();
                    answer(connection, request);
                }
            } catch (...) {
                refuse(connection, current_status().message);
            }
        }
    }

    void answer(Connection& connection, Request& request) {
        const std::vector<std::string>& keys = request.keys;
        switch (request.query) {
            case Query::Validate:
                return;
            case Query::Set:
                return store(keys[0], std::move(request.values[0]));
            case Query::CompareSet:
                return compare_set(connection, request);
            case Query::Get:
                return send(connection, Writer().bytes(value_of(keys[0])));
            case Query::Add:
                return send(connection, Writer().number(add(keys[0], request.number)));
            case Query::Check:
                return send(connection, Writer().byte(check(keys)));
            case Query::Wait:
                connection.awaited = keys;
                connection.position = 0;
                return advance(connection);
            case Query::CountKeys:
                return send(connection, Writer().count(table_.size()));
            case Query::DeleteKey:
                return send(connection, Writer().number(table_.erase(keys[0]) ? 1 : 0));
            case Query::Append:
                table_.append(keys[0], request.values[0]);
                return changed(keys[0]);
            case Query::MultiGet:
                return multi_get(connection, keys);
            case Query::MultiSet:
                for (size_t i = 0; i < keys.size(); ++i)
                    store(keys[i], std::move(request.values[i]));
                return;
            case Query::Ping:
                return send(connection, Writer().number32(static_cast<uint32_t>(request.number)));
            case Query::CancelWait:
                return;  // taken before anything that waits
        }
    }

    void store(const std::string& key, std::string value) {
        table_.set(key, std::move(value));
        changed(key);
    }

    void compare_set(Connection& connection, const Request& request) {
        const std::string& key = request.keys[0];
        const bool was_there = table_.has(key);
        send(connection,
             Writer().bytes(table_.compare_set(key, request.values[0], request.values[1])));
        if (!was_there && table_.has(key)) changed(key);
    }

    int64_t add(const std::string& key, int64_t amount) {
        const int64_t sum = table_.add(key, amount);
        if (key == protocol::joined_key) {
            const Lock lock(mutex_);
            joined_ = sum;
            joined_changed_.notify_all();
        }
        changed(key);
        return sum;
    }

    [[nodiscard]] uint8_t check(const std::vector<std::string>& keys) const {
        const bool asks_for_tutti = keys.size() == 1 && keys[0] == protocol::tutti_key;
        return asks_for_tutti || table_.has_all(keys) ? protocol::check_ready
                                                      : protocol::check_not_ready;
    }

    // Empty if it is not there: a client asks after a wait, and the key may be deleted since.
    [[nodiscard]] std::string_view value_of(const std::string& key) const {
        const std::string* value = table_.find(key);
        return value == nullptr ? std::string_view() : *value;
    }

    void multi_get(Connection& connection, const std::vector<std::string>& keys) {
        Writer writer;
        for (const std::string& key : keys) {
            if (writer.size() > store_limits::request_bytes)
                throw Error(TUTTI_ERR_STORE, "it asked for too much at once");
            writer.bytes(value_of(key));
        }
        send(connection, writer);
    }

    void send(Connection& connection, Writer& writer) {
        if (connection.stream->queued() > store_limits::unread_answer_bytes)
            throw Error(TUTTI_ERR_STORE, "it does not read its answers");
        connection.stream->write(writer.take());
    }

    // The key may be new: whoever waits for it looks again.
    void changed(const std::string& key) {
        auto node = waiting_.extract(key);
        if (node.empty()) return;
        for (Connection* connection : node.mapped()) {
            try {
                advance(*connection);
            } catch (...) {
                refuse(*connection, current_status().message);
            }
        }
    }

    // Looks for the first key that is still missing, and waits for that one alone: so a wait costs
    // its number of keys, not its square. At the end all are looked at once more, for some may have
    // been deleted.
    void advance(Connection& connection) {
        connection.waiting = false;
        const std::vector<std::string>& keys = connection.awaited;
        while (connection.position < keys.size() && table_.has(keys[connection.position]))
            ++connection.position;
        if (connection.position == keys.size()) {
            const auto missing = std::find_if_not(
                keys.begin(), keys.end(), [this](const auto& key) { return table_.has(key); });
            connection.position = static_cast<size_t>(missing - keys.begin());
        }
        if (connection.position < keys.size()) {
            waiting_[keys[connection.position]].push_back(&connection);
            connection.waiting = true;
            return;
        }
        connection.awaited.clear();
        send(connection, Writer().byte(protocol::wait_over));
        if (!connection.behind_wait.empty()) resumable_.push_back(&connection);
    }

    void stop_waiting(Connection& connection) noexcept {
        if (!connection.waiting) return;
        connection.waiting = false;
        const auto found = waiting_.find(connection.awaited[connection.position]);
        if (found == waiting_.end()) return;
        std::erase(found->second, &connection);
        if (found->second.empty()) waiting_.erase(found);
    }

    Table table_;
    std::unordered_map<std::string, std::vector<Connection*>> waiting_;
    std::deque<Connection*> resumable_;
    std::unordered_map<Connection*, std::unique_ptr<Connection>> connections_;
    std::unique_ptr<net::Listener> listener_;

    Mutex mutex_;
    Condition joined_changed_;
    int64_t joined_ TUTTI_GUARDED_BY(mutex_) = 0;

    net::Loop loop_{"tutti-store"};  // the last member: it ends before what its thread uses
};

TcpServer::TcpServer(std::vector<net::ListenSocket> sockets)
    : port_(sockets.front().port()), service_(std::make_unique<Service>(std::move(sockets))) {}

TcpServer::~TcpServer() = default;

int64_t TcpServer::wait_for_joined(int64_t wanted, const Deadline& deadline) {
    return service_->wait_for_joined(wanted, deadline);
}

}  // namespace tutti
