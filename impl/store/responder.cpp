// PyTorch 2's store protocol, query by query. What a client sends behind a wait that is not over is
// held back, except CANCEL_WAIT; waiting itself is in responder_waits.cpp. One thread.
#include "responder.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "keys.hpp"

namespace tutti {

using protocol::Query;
using protocol::Request;
using protocol::Writer;
using Waits = StoreClient::Waits;

namespace {

// Whether somebody asks if the server is tutti's.
bool is_greeting(const Request& request) {
    return request.query == Query::Check && !request.keys.empty() &&
           request.keys[0] == protocol::tutti_key;
}

}  // namespace

Responder::Responder(const StoreLimits& limits, Events events)
    : limits_(limits), events_(std::move(events)) {}

void Responder::take(StoreClient& client, Request request) noexcept {
    try {
        if (!client.validated || client.turned_away)
            begin(client, request);
        else
            dispatch(client, std::move(request));
    } catch (...) {
        fail(client, current_status().message);
    }
}

void Responder::fail(StoreClient& client, std::string why) noexcept {
    if (!client.failure.empty()) return;
    client.failure = std::move(why);
    touch(client);
}

// The greeting, and all that a client gets who is one too many.
void Responder::begin(StoreClient& client, const Request& request) {
    if (!client.validated) {
        if (request.query != Query::Validate ||
            request.number != int64_t{protocol::validation_magic})
            throw Error(TUTTI_ERR_STORE, "it did not send the handshake of PyTorch 2");
        client.validated = true;
        return;
    }
    if (is_greeting(request)) answers_of(client).byte(protocol::check_full);
    throw Error(TUTTI_ERR_STORE,
                cat("the server has ", limits_.connections, " connections, as many as its limit"));
}

void Responder::dispatch(StoreClient& client, Request request) {
    if (request.query == Query::CancelWait) {
        stop_waiting(client);
        drop_behind(client);
        answers_of(client).byte(protocol::wait_cancelled);
    } else if (client.waits != Waits::ForNothing || !client.behind_wait.empty()) {
        if (client.behind_wait.size() == store_limits::requests_behind_wait)
            throw Error(TUTTI_ERR_STORE, "too many requests behind a wait");
        client.behind_bytes += request.bytes;
        client.behind_wait.push_back(std::move(request));
    } else {
        answer(client, request);
    }
}

void Responder::resume() noexcept {
    while (!resumable_.empty()) {
        StoreClient& client = *resumable_.front();
        resumable_.pop_front();
        try {
            while (client.waits == Waits::ForNothing && !client.behind_wait.empty() &&
                   client.failure.empty()) {
                Request request = std::move(client.behind_wait.front());
                client.behind_wait.pop_front();
                client.behind_bytes -= request.bytes;
                answer(client, request);
            }
        } catch (...) {
            fail(client, current_status().message);
        }
    }
}

void Responder::answer(StoreClient& client, Request& request) {
    const std::vector<std::string>& keys = request.keys;
    switch (request.query) {
        case Query::Validate:
        case Query::CancelWait:  // dealt with before
            return;
        case Query::Set:
            return set(keys[0], std::move(request.values[0]));
        case Query::CompareSet:
            return compare_set(client, request);
        case Query::Get:
            return answer_get(client, keys[0]);
        case Query::Add:
            answers_of(client).number(add(keys[0], request.number));
            return;
        case Query::Check:
            return is_greeting(request) ? answer_greeting(client, keys)
                                        : answer_check(client, keys);
        case Query::Wait:
            return wait(client, std::move(request.keys));
        case Query::CountKeys:
            answers_of(client).count(table_.size());
            return;
        case Query::DeleteKey:
            answers_of(client).number(table_.erase(keys[0]) ? 1 : 0);
            return;
        case Query::Append:
            need_room(request.values[0].size() + store_limits::entry_overhead);
            table_.append(keys[0], request.values[0], limits_.value_bytes);
            return changed(keys[0]);
        case Query::MultiGet:
            return answer_multi_get(client, keys);
        case Query::MultiSet:
            for (size_t i = 0; i < keys.size(); ++i) set(keys[i], std::move(request.values[i]));
            return;
        case Query::Ping:
            answers_of(client).number32(static_cast<uint32_t>(request.number));
            return;
        case Query::QueuePush:
            return push(keys[0], std::move(request.values[0]));
        case Query::QueuePop:
            return answer_pop(client, keys[0]);
        case Query::QueueLen:
            answers_of(client).count(table_.queue_length(keys[0]));
            return;
        case Query::ListKeys:
            return answer_list_keys(client);
        case Query::Barrier:
            return barrier(client, keys[0], request.number);
    }
}

// Clients' keys begin with "/", so nobody but tutti's ask for the other.
void Responder::answer_get(StoreClient& client, const std::string& key) {
    const bool asks_why = key.starts_with(protocol::refusal_key);
    answers_of(client).bytes(
        asks_why ? refusal_of(std::string_view(key).substr(protocol::refusal_key.size()))
                 : value_of(key));
}

void Responder::answer_check(StoreClient& client, const std::vector<std::string>& keys) {
    answers_of(client).byte(table_.has_all(keys) ? protocol::check_ready
                                                 : protocol::check_not_ready);
}

void Responder::answer_greeting(StoreClient& client, const std::vector<std::string>& keys) {
    client.is_tutti = true;
    Writer& answers = answers_of(client);
    answers.byte(protocol::check_ready);
    if (keys.size() != 2 || !keys[1].starts_with(protocol::hello_key)) return;
    client.name = keys[1].substr(protocol::hello_key.size());
    answers.count(limits_.key_bytes).count(limits_.value_bytes).count(limits_.keys_per_request);
}

std::string_view Responder::refusal_of(std::string_view name) const {
    const auto found = std::find_if(refusals_.rbegin(), refusals_.rend(),
                                    [&](const auto& refusal) { return refusal.first == name; });
    return found == refusals_.rend() ? std::string_view() : found->second;
}

void Responder::answer_multi_get(StoreClient& client, const std::vector<std::string>& keys) {
    size_t total = 0;
    for (const std::string& key : keys) total += value_of(key).size();
    if (total > limits_.request_bytes())
        throw Error(TUTTI_ERR_STORE, cat("it asked for ", total, " bytes at once, at most ",
                                         limits_.request_bytes(), " are possible"));
    Writer& answers = answers_of(client);
    for (const std::string& key : keys) answers.bytes(value_of(key));
}

void Responder::answer_list_keys(StoreClient& client) {
    const std::vector<std::string> keys = table_.keys();
    Writer& answers = answers_of(client);
    answers.count(keys.size());
    for (const std::string& key : keys) answers.bytes(key);
}

// How many there were, and the first of them.
void Responder::answer_pop(StoreClient& client, const std::string& key) {
    Writer& answers = answers_of(client);
    answers.count(table_.queue_length(key));
    if (const auto value = table_.pop(key)) answers.bytes(*value);
}

void Responder::set(const std::string& key, std::string value) {
    need_room(table_.growth(key, value.size()));
    table_.set(key, std::move(value));
    changed(key);
}

void Responder::compare_set(StoreClient& client, const Request& request) {
    const std::string& key = request.keys[0];
    const bool was_there = table_.find(key) != nullptr;
    need_room(was_there || request.values[0].empty() ? table_.growth(key, request.values[1].size())
                                                     : 0);
    answers_of(client).bytes(table_.compare_set(key, request.values[0], request.values[1]));
    if (!was_there && table_.find(key) != nullptr) changed(key);
}

int64_t Responder::add(const std::string& key, int64_t amount) {
    need_room(table_.growth(key, store_limits::number_text_bytes));
    const int64_t sum = table_.add(key, amount);
    if (key == protocol::joined_key) events_.joined(sum);
    changed(key);
    return sum;
}

void Responder::push(const std::string& key, std::string value) {
    need_room(key.size() + value.size() + 2 * store_limits::entry_overhead);
    table_.push(key, std::move(value));
    pushed(key);
}

// Empty if it is not there: a client asks after a wait, and the key may be deleted since.
std::string_view Responder::value_of(const std::string& key) const {
    const std::string* value = table_.find(key);
    return value == nullptr ? std::string_view() : *value;
}

void Responder::need_room(size_t growth) {
    if (growth == 0 || held() + growth <= limits_.memory_bytes) return;
    events_.recount();
    if (held() + growth <= limits_.memory_bytes) return;
    throw Error(TUTTI_ERR_STORE,
                cat("the server holds ", held(), " bytes, and with ", growth,
                    " more it would hold more than its limit, ", limits_.memory_bytes));
}

void Responder::hold(StoreClient& client, size_t bytes) noexcept {
    bytes += client.behind_bytes + client.awaited_bytes;
    held_by_clients_ = held_by_clients_ - client.held + bytes;
    client.held = bytes;
}

// Small requests are let in, so that a full server can still be read and emptied.
void Responder::admit(StoreClient& client) noexcept {
    if (client.held <= store_limits::admitted_bytes || held() <= limits_.memory_bytes) return;
    try {
        need_room(1);
    } catch (...) {
        fail(client, current_status().message);
    }
}

void Responder::drop_behind(StoreClient& client) noexcept {
    client.behind_wait.clear();
    client.behind_bytes = 0;
}

// Where the answers of the client go, which is about to get one.
Writer& Responder::answers_of(StoreClient& client) {
    const auto reads = [&] {
        return client.unread + client.answers.size() <= store_limits::unread_answer_bytes;
    };
    if (!reads()) events_.recount();  // it may have read since
    if (!reads()) throw Error(TUTTI_ERR_STORE, "it does not read its answers");
    touch(client);
    return client.answers;
}

void Responder::touch(StoreClient& client) {
    if (client.touched) return;
    client.touched = true;
    touched_.push_back(&client);
}

StoreClient* Responder::next_touched() {
    if (touched_.empty()) return nullptr;
    StoreClient* client = touched_.front();
    touched_.pop_front();
    client->touched = false;
    return client;
}

void Responder::forget(StoreClient& client) noexcept {
    stop_waiting(client);
    std::erase(resumable_, &client);
    std::erase(touched_, &client);
    held_by_clients_ -= client.held;
    if (client.failure.empty() || client.name.empty()) return;
    if (refusals_.size() == store_limits::refusals_remembered) refusals_.pop_front();
    refusals_.emplace_back(std::move(client.name), std::move(client.failure));
}

}  // namespace tutti
