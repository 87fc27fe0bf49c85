// The answers of a TCP store's server: the table, and who waits for what. Knows clients by what
// they have said and are to be told, and no sockets. One thread.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "request_parser.hpp"
#include "table.hpp"

namespace tutti {

// A client of the server; the responder's own, but for the first four.
struct StoreClient {
    protocol::Writer answers;  // for the server to send
    size_t unread = 0;         // bytes on their way to it, as far as the server knows
    std::string failure;       // why its connection must be closed; empty: it need not
    bool turned_away = false;  // it is one too many: it is told so, and nothing else

    std::string name;       // of a client of tutti: by it, it can ask why it was refused
    bool is_tutti = false;  // it asked whether the server is tutti's
    bool validated = false;
    bool touched = false;  // listed for the server

    // While it waits: its keys, of which all before `position` have been seen. It is listed under
    // the key at `position`. At a barrier, that is its one key.
    enum class Waits : uint8_t { ForNothing, ForKeys, AtBarrier };
    Waits waits = Waits::ForNothing;
    std::vector<std::string> awaited;
    size_t awaited_bytes = 0;
    size_t position = 0;
    int64_t barrier_size = 0;
    std::deque<protocol::Request> behind_wait;
    size_t behind_bytes = 0;
    size_t held = 0;  // what it was last said to hold
};

class Responder {
public:
    struct Events {
        std::function<void(int64_t)> joined;  // so many clients have said that they are there
        std::function<void()> recount;        // hold() shall be called for every client
    };
    Responder(const StoreLimits& limits, Events events);

    // Answers, or holds the request back until a wait is over. A fault is the client's `failure`,
    // after which it must be given no more.
    void take(StoreClient& client, protocol::Request request) noexcept;
    void fail(StoreClient& client, std::string why) noexcept;
    // The client's connection holds so many bytes, in and out.
    void hold(StoreClient& client, size_t bytes) noexcept;
    // A failure if it holds much and the server is full.
    void admit(StoreClient& client) noexcept;
    // Answers what was held back behind waits that have ended meanwhile.
    void resume() noexcept;
    // The next client that has got answers or a failure, or null.
    StoreClient* next_touched();
    // The client is gone. One with a failure can ask for it by its name.
    void forget(StoreClient& client) noexcept;

private:
    void begin(StoreClient& client, const protocol::Request& request);
    void dispatch(StoreClient& client, protocol::Request request);
    void answer(StoreClient& client, protocol::Request& request);
    void answer_get(StoreClient& client, const std::string& key);
    void answer_multi_get(StoreClient& client, const std::vector<std::string>& keys);
    void answer_list_keys(StoreClient& client);
    void answer_pop(StoreClient& client, const std::string& key);
    void answer_check(StoreClient& client, const std::vector<std::string>& keys);
    void answer_greeting(StoreClient& client, const std::vector<std::string>& keys);
    [[nodiscard]] std::string_view refusal_of(std::string_view name) const;
    void set(const std::string& key, std::string value);
    void compare_set(StoreClient& client, const protocol::Request& request);
    int64_t add(const std::string& key, int64_t amount);
    void push(const std::string& key, std::string value);
    void wait(StoreClient& client, std::vector<std::string> keys);
    void barrier(StoreClient& client, const std::string& key, int64_t size);

    [[nodiscard]] std::string_view value_of(const std::string& key) const;
    [[nodiscard]] size_t held() const { return table_.bytes() + held_by_clients_; }
    void need_room(size_t growth);
    void changed(const std::string& key);
    void pushed(const std::string& key);
    void advance(StoreClient& client);
    [[nodiscard]] bool all_came(const StoreClient& client) const;
    void await(StoreClient& client, StoreClient::Waits what, std::vector<std::string> keys);
    static void forget_keys(StoreClient& client) noexcept;
    void end_wait(StoreClient& client);
    void stop_waiting(StoreClient& client) noexcept;
    void drop_behind(StoreClient& client) noexcept;
    void touch(StoreClient& client);
    protocol::Writer& answers_of(StoreClient& client);

    const StoreLimits limits_;
    const Events events_;
    Table table_;
    size_t held_by_clients_ = 0;
    std::unordered_map<std::string, std::vector<StoreClient*>> waiting_;
    std::deque<StoreClient*> resumable_;
    std::deque<StoreClient*> touched_;
    std::deque<std::pair<std::string, std::string>> refusals_;  // name and reason, the newest last
};

}  // namespace tutti
