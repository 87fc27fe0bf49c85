// Keys, values and queues in memory, with the rules every store shares. No locks: the hash store
// guards one with a mutex, the server keeps one on its loop thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "store.hpp"

namespace tutti {

class Table {
public:
    [[nodiscard]] const std::string* find(const std::string& key) const;
    // A value or a queue that is not empty.
    [[nodiscard]] bool has(const std::string& key) const;
    [[nodiscard]] bool has_all(Store::Keys keys) const;
    // The number of values; queues do not count.
    [[nodiscard]] size_t size() const { return values_.size(); }
    [[nodiscard]] std::vector<std::string> keys() const;
    // About how many bytes it holds, and how many a value would add.
    [[nodiscard]] size_t bytes() const { return bytes_; }
    [[nodiscard]] size_t growth(const std::string& key, size_t value_bytes) const;

    void set(const std::string& key, std::string value);
    // Throws STORE, and changes nothing, if the value is not a number.
    int64_t add(const std::string& key, int64_t amount);
    // Throws STORE if the value gets longer than `limit`.
    void append(const std::string& key, const std::string& value,
                size_t limit = StoreLimits().value_bytes);
    // The value afterwards; `expected` if the key is missing and `expected` is not empty.
    std::string compare_set(const std::string& key, const std::string& expected,
                            const std::string& desired);
    // A value or a queue.
    bool erase(const std::string& key);

    void push(const std::string& key, std::string value);
    std::optional<std::string> pop(const std::string& key);
    [[nodiscard]] size_t queue_length(const std::string& key) const;

private:
    std::unordered_map<std::string, std::string> values_;
    std::unordered_map<std::string, std::deque<std::string>> queues_;  // none is empty
    size_t bytes_ = 0;
};

}  // namespace tutti
