// Keys and values in memory, with the rules every store shares. No locks: the hash store guards one
// with a mutex, the server keeps one on its loop thread.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "store.hpp"

namespace tutti {

class Table {
public:
    [[nodiscard]] const std::string* find(const std::string& key) const;
    [[nodiscard]] bool has(const std::string& key) const { return find(key) != nullptr; }
    [[nodiscard]] bool has_all(Store::Keys keys) const;
    [[nodiscard]] size_t size() const { return values_.size(); }

    void set(const std::string& key, std::string value);
    // Throws STORE, and changes nothing, if the value is not a number.
    int64_t add(const std::string& key, int64_t amount);
    // Throws STORE if the value gets too long.
    void append(const std::string& key, const std::string& value);
    // The value afterwards; `expected` if the key is missing and `expected` is not empty.
    std::string compare_set(const std::string& key, const std::string& expected,
                            const std::string& desired);
    bool erase(const std::string& key);

private:
    std::unordered_map<std::string, std::string> values_;
};

}  // namespace tutti
