// The responder's clients that wait: for keys, for a queue's value, at a barrier. One thread.
#include <algorithm>

#include "base/error.hpp"
#include "keys.hpp"
#include "responder.hpp"

namespace tutti {

using protocol::Query;
using Waits = StoreClient::Waits;

void Responder::wait(StoreClient& client, std::vector<std::string> keys) {
    await(client, Waits::ForKeys, std::move(keys));
    advance(client);
}

void Responder::await(StoreClient& client, Waits what, std::vector<std::string> keys) {
    client.awaited_bytes = 0;
    for (const std::string& key : keys) client.awaited_bytes += key.size() + sizeof key;
    client.awaited = std::move(keys);
    client.position = 0;
    client.waits = what;
}

void Responder::forget_keys(StoreClient& client) noexcept {
    client.waits = Waits::ForNothing;
    client.awaited = {};
    client.awaited_bytes = 0;
}

// The count is an ordinary value, and stays: who comes later passes at once.
void Responder::barrier(StoreClient& client, const std::string& key, int64_t size) {
    need_room(table_.growth(key, store_limits::number_text_bytes));
    const bool is_new = !table_.has(key);
    const int64_t come = table_.add(key, 1);
    // The others need not look before all are there.
    if (is_new || come >= size) changed(key);
    await(client, Waits::AtBarrier, {key});
    client.barrier_size = size;
    if (come >= size) return end_wait(client);
    waiting_[key].push_back(&client);
}

// The key may be new: the clients that wait for it look again.
void Responder::changed(const std::string& key) {
    if (waiting_.empty()) return;
    auto node = waiting_.extract(key);
    if (node.empty()) return;
    for (StoreClient* client : node.mapped()) {
        try {
            advance(*client);
        } catch (...) {
            fail(*client, current_status().message);
        }
    }
}

// A value was put into a queue, for one of those who wait. A client of PyTorch pops in a second
// message, so one of them is woken for each value, as its own server does. A client of tutti that
// pops has sent so behind the wait, and gets the value now; one that only waits takes nothing.
void Responder::pushed(const std::string& key) {
    auto node = waiting_.extract(key);
    if (node.empty()) return;
    std::vector<StoreClient*> still_waiting;
    size_t left = table_.queue_length(key);
    bool promised = false;
    for (StoreClient* client : node.mapped()) {
        const bool pops = !client->behind_wait.empty() &&
                          client->behind_wait.front().query == Query::QueuePop &&
                          client->behind_wait.front().keys[0] == key;
        const bool takes = pops || !client->is_tutti;
        const bool none = left == 0 || (!client->is_tutti && promised);
        if (client->waits != Waits::ForKeys || (takes && none)) {
            still_waiting.push_back(client);
            continue;
        }
        try {
            advance(*client);
            if (!takes || client->waits != Waits::ForNothing) continue;
            --left;
            promised = promised || !pops;
            if (!pops) continue;
            client->behind_bytes -= client->behind_wait.front().bytes;
            client->behind_wait.pop_front();
            answer_pop(*client, key);
        } catch (...) {
            fail(*client, current_status().message);
        }
    }
    if (still_waiting.empty()) return;
    std::vector<StoreClient*>& list = waiting_[key];
    list.insert(list.begin(), still_waiting.begin(), still_waiting.end());
}

// Looks for the first key that is still missing, and waits for that one alone: so a wait costs its
// number of keys, not its square. At the end all are looked at once more, for some may have been
// deleted.
void Responder::advance(StoreClient& client) {
    const std::vector<std::string>& keys = client.awaited;
    if (client.waits == Waits::AtBarrier) {
        if (all_came(client)) return end_wait(client);
        waiting_[keys[0]].push_back(&client);
        return;
    }
    while (client.position < keys.size() && table_.has(keys[client.position])) ++client.position;
    if (client.position == keys.size()) {
        const auto missing = std::find_if_not(keys.begin(), keys.end(),
                                              [this](const auto& key) { return table_.has(key); });
        client.position = static_cast<size_t>(missing - keys.begin());
    }
    if (client.position == keys.size()) return end_wait(client);
    waiting_[keys[client.position]].push_back(&client);
}

bool Responder::all_came(const StoreClient& client) const {
    const std::string* count = table_.find(client.awaited[0]);
    return count != nullptr && add_to_counter(client.awaited[0], *count, 0) >= client.barrier_size;
}

void Responder::end_wait(StoreClient& client) {
    forget_keys(client);
    answers_of(client).byte(protocol::wait_over);
    if (!client.behind_wait.empty()) resumable_.push_back(&client);
}

void Responder::stop_waiting(StoreClient& client) noexcept {
    if (client.waits == Waits::ForNothing) return;
    const auto found = waiting_.find(client.awaited[client.position]);
    if (found != waiting_.end()) {
        std::erase(found->second, &client);
        if (found->second.empty()) waiting_.erase(found);
    }
    forget_keys(client);
}

}  // namespace tutti
