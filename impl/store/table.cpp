// The rules of the stores' operations. Whoever owns the table sees to threads.
#include "table.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "keys.hpp"
#include "limits.hpp"

namespace tutti {

const std::string* Table::find(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
}

bool Table::has_all(Store::Keys keys) const {
    return std::all_of(keys.begin(), keys.end(), [this](const auto& key) { return has(key); });
}

void Table::set(const std::string& key, std::string value) {
    values_.insert_or_assign(key, std::move(value));
}

int64_t Table::add(const std::string& key, int64_t amount) {
    const std::string* value = find(key);
    const int64_t sum = value == nullptr ? amount : add_to_counter(key, *value, amount);
    set(key, std::to_string(sum));
    return sum;
}

void Table::append(const std::string& key, const std::string& value) {
    const std::string* old = find(key);
    if (old != nullptr && old->size() + value.size() > store_limits::request_bytes)
        throw Error(TUTTI_ERR_STORE, cat("append to ", key_text(key), ": the value gets too long"));
    values_[key].append(value);
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
    return values_.erase(key) != 0;
}

}  // namespace tutti
