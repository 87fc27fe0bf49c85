// The answers of a store's server to four clients that may say anything, without sockets and
// threads: nobody waits for what is there, nobody is answered unasked, what is held back is
// counted. Input: a byte that chooses the limits; then moves: a byte, client + 4 * length, and so
// many bytes that it sends; the largest length is that it leaves, and another takes its place.
#include "store/responder.hpp"

#include <array>
#include <memory>

#include "base/error.hpp"
#include "input.hpp"

namespace {

using tutti::Responder;
using tutti::StoreClient;
using tutti::StoreLimits;
using tutti::protocol::Query;
using tutti::protocol::Request;
using tutti::protocol::RequestParser;
using Bytes = std::span<const std::byte>;
using Waits = StoreClient::Waits;

constexpr size_t clients = 4;
constexpr size_t leaves = 255 / clients;

struct Client : StoreClient {
    explicit Client(const StoreLimits& limits) : parser(limits) {}
    RequestParser parser;
};

// Does what the server does for its connections, and looks into what it must not.
class Server {
public:
    explicit Server(const StoreLimits& limits)
        : limits_(limits), responder_(limits, {[](int64_t) {}, [this] { recount(); }}) {
        for (auto& client : clients_) client = std::make_unique<Client>(limits);
    }
    ~Server() {
        for (auto& client : clients_) responder_.forget(*client);
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    void receive(size_t index, Bytes bytes) {
        Client& client = *clients_[index];
        try {
            while (client.failure.empty()) {
                auto request = client.parser.next(bytes);
                if (!request) break;
                responder_.take(client, std::move(*request));
            }
        } catch (...) {
            responder_.fail(client, tutti::current_status().message);
        }
        recount(client);
        responder_.admit(client);
        responder_.resume();
        deliver();
    }

    void replace(size_t index) {
        responder_.forget(*clients_[index]);
        clients_[index] = std::make_unique<Client>(limits_);
    }

    void expect_order() {
        for (const auto& client : clients_) {
            size_t behind = 0;
            for (const Request& request : client->behind_wait) behind += request.bytes;
            FUZZ_EXPECT(client->behind_bytes == behind);
            FUZZ_EXPECT(client->behind_wait.empty() || client->waits != Waits::ForNothing);
            FUZZ_EXPECT(client->validated || client->waits == Waits::ForNothing);
            if (client->waits == Waits::ForKeys) expect_missing(client->awaited[client->position]);
        }
    }

private:
    // A queue may have values that are promised to others who wait.
    void expect_missing(const std::string& key) {
        if (key == tutti::protocol::tutti_key) return;  // it is never there, CHECK says otherwise
        StoreClient judge;
        judge.validated = true;
        Request length;
        length.query = Query::QueueLen;
        length.keys = {key};
        responder_.take(judge, length);
        const bool is_queue = judge.answers.take() != std::string(8, '\0');
        Request check;
        check.query = Query::Check;
        check.keys = {key};
        responder_.take(judge, check);
        FUZZ_EXPECT(judge.answers.take() == "\1" || is_queue);
        responder_.forget(judge);
    }

    void deliver() {
        while (StoreClient* touched = responder_.next_touched()) {
            FUZZ_EXPECT(touched->validated || touched->answers.empty());
            if (!touched->answers.empty()) (void)touched->answers.take();
            recount(static_cast<Client&>(*touched));
            if (touched->failure.empty()) continue;
            for (size_t index = 0; index < clients; ++index)
                if (clients_[index].get() == touched) replace(index);
        }
    }

    void recount(Client& client) {
        responder_.hold(client, client.parser.held_bytes() + client.answers.size());
    }
    void recount() {
        for (const auto& client : clients_) recount(*client);
    }

    const StoreLimits limits_;
    Responder responder_;
    std::array<std::unique_ptr<Client>, clients> clients_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    tutti::fuzz::Input input(data, size);
    StoreLimits limits;
    const uint8_t choice = input.byte();
    if ((choice & 1) != 0) limits.memory_bytes = 2000;
    if ((choice & 2) != 0) limits.key_bytes = 4;
    if ((choice & 4) != 0) limits.value_bytes = 8;
    if ((choice & 8) != 0) limits.keys_per_request = 2;
    Server server(limits);
    while (!input.empty()) {
        const uint8_t move = input.byte();
        if (move / clients == leaves)
            server.replace(move % clients);
        else
            server.receive(move % clients, input.bytes(move / clients));
        server.expect_order();
    }
    return 0;
}
