// The rules of the stores' operations. The owner of the table sees to threads.
#include "table.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "keys.hpp"
#include "limits.hpp"

namespace tutti {

using store_limits::entry_overhead;

const std::string* Table::find(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
}

bool Table::has(const std::string& key) const {
    return find(key) != nullptr || queues_.contains(key);
}

bool Table::has_all(Store::Keys keys) const {
    return std::all_of(keys.begin(), keys.end(), [this](const auto& key) { return has(key); });
}

std::vector<std::string> Table::keys() const {
    std::vector<std::string> keys;
    keys.reserve(values_.size());
    for (const auto& [key, value] : values_) keys.push_back(key);
    return keys;
}

size_t Table::growth(const std::string& key, size_t value_bytes) const {
    const std::string* old = find(key);
    if (old == nullptr) return key.size() + value_bytes + entry_overhead;
    return value_bytes - std::min(old->size(), value_bytes);
}

void Table::set(const std::string& key, std::string value) {
    const size_t size = value.size();
    const auto [place, is_new] = values_.try_emplace(key);
    bytes_ += is_new ? key.size() + entry_overhead : 0;
    bytes_ = bytes_ - place->second.size() + size;
    place->second = std::move(value);
}

int64_t Table::add(const std::string& key, int64_t amount) {
    const std::string* value = find(key);
    const int64_t sum = value == nullptr ? amount : add_to_counter(key, *value, amount);
    set(key, std::to_string(sum));
    return sum;
}

void Table::append(const std::string& key, const std::string& value, size_t limit) {
    const std::string* old = find(key);
    if (old != nullptr && old->size() + value.size() > limit)
        throw Error(TUTTI_ERR_STORE, cat("append to ", key_text(key), ": the value gets too long"));
    if (old == nullptr) return set(key, value);
    values_[key].append(value);
    bytes_ += value.size();
}

std::string Table::compare_set(const std::string& key, const std::string& expected,
                               const std::string& desired) {
    const std::string* value = find(key);
    if (value == nullptr && !expected.empty()) return expected;
    if (value != nullptr && *value != expected) return *value;
    set(key, desired);
    return desired;
}

bool Table::erase(const std::string& key) {
    const auto value = values_.find(key);
    const auto queue = queues_.find(key);
    const bool found = value != values_.end() || queue != queues_.end();
    if (value != values_.end()) {
        bytes_ -= key.size() + value->second.size() + entry_overhead;
        values_.erase(value);
    }
    if (queue != queues_.end()) {
        for (const std::string& entry : queue->second) bytes_ -= entry.size() + entry_overhead;
        bytes_ -= key.size() + entry_overhead;
        queues_.erase(queue);
    }
    return found;
}

void Table::push(const std::string& key, std::string value) {
    const size_t size = value.size();
    const auto [queue, is_new] = queues_.try_emplace(key);
    bytes_ += is_new ? key.size() + entry_overhead : 0;
    bytes_ += size + entry_overhead;
    queue->second.push_back(std::move(value));
}

std::optional<std::string> Table::pop(const std::string& key) {
    const auto queue = queues_.find(key);
    if (queue == queues_.end()) return std::nullopt;
    std::string value = std::move(queue->second.front());
    queue->second.pop_front();
    bytes_ -= value.size() + entry_overhead;
    if (queue->second.empty()) {
        bytes_ -= key.size() + entry_overhead;
        queues_.erase(queue);
    }
    return value;
}

size_t Table::queue_length(const std::string& key) const {
    const auto queue = queues_.find(key);
    return queue == queues_.end() ? 0 : queue->second.size();
}

}  // namespace tutti
