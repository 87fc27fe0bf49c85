#include "user_store.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/module.hpp"
#include "keys.hpp"
#include "progress/pauses.hpp"

namespace tutti {

namespace {

using Clock = Deadline::Clock;

// How long one question may wait, so that an interruption is noticed.
constexpr auto max_question = std::chrono::milliseconds(100);

tutti_slice slice_of(const std::string& text) {
    return {text.data(), text.size()};
}

std::vector<tutti_slice> slices_of(Store::Keys keys) {
    std::vector<tutti_slice> slices;
    for (const std::string& key : keys) slices.push_back(slice_of(key));
    return slices;
}

// Where a table's function gives values to. Out of memory, it has none.
struct Given {
    std::vector<std::string> values;
    bool failed = false;

    static void take(void* to, const void* data, size_t size) noexcept {
        auto& given = *static_cast<Given*>(to);
        try {
            given.values.emplace_back(static_cast<const char*>(data), data == nullptr ? 0 : size);
        } catch (...) {
            given.failed = true;
        }
    }
};

// State that handles share.
class Opened {
public:
    Opened(const tutti_store_table& with_table, void* opened)
        : table(with_table), store(opened), where(cat("store \"", table.name, "\"")) {}
    ~Opened() {
        if (table.close != nullptr) table.close(store);
    }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;

    const tutti_store_table table;
    void* const store;
    const std::string where;
};

class UserStore final : public Store {
public:
    explicit UserStore(std::shared_ptr<Opened> opened) : at_(std::move(opened)) {}

    void set(const std::string& key, const std::string& value, const Deadline&) override {
        check_pair(key, value.size());
        const tutti_slice name = slice_of(key);
        const tutti_slice data = slice_of(value);
        ask("set", key, at_->table.set, &name, &data);
    }

    std::string get(const std::string& key, const WaitLimit& limit) override {
        check_key(key);
        const tutti_slice name = slice_of(key);
        Given given;
        ask_until("get", Keys(&key, 1), limit, [&](int64_t timeout_ms, tutti_error* error) {
            given = {};
            return at_->table.get(at_->store, &name, timeout_ms, Given::take, &given, error);
        });
        return only("get", key, given);
    }

    int64_t add(const std::string& key, int64_t amount, const Deadline&) override {
        check_key(key);
        const tutti_slice name = slice_of(key);
        int64_t sum = 0;
        ask("add", key, at_->table.add, &name, amount, &sum);
        return sum;
    }

    void append(const std::string& key, const std::string& value,
                const Deadline& deadline) override {
        check_pair(key, value.size());
        if (at_->table.append != nullptr) {
            const tutti_slice name = slice_of(key);
            const tutti_slice data = slice_of(value);
            return ask("append", key, at_->table.append, &name, &data);
        }
        std::string old;
        while (true) {
            const Exchanged now = exchange("append", key, old, old + value);
            if (now.was_set) return;
            old = now.value;
            if (deadline.expired()) fail_wait("append", Keys(&key, 1), at_->where, deadline);
        }
    }

    bool check(Keys keys, const Deadline&) override {
        check_keys(keys);
        return has_all(keys);
    }

    void wait(Keys keys, const WaitLimit& limit) override {
        check_keys(keys);
        const auto names = slices_of(keys);
        ask_until("wait", keys, limit, [&](int64_t timeout_ms, tutti_error* error) {
            const tutti_status code =
                at_->table.wait(at_->store, names.data(), names.size(), timeout_ms, error);
            return code == TUTTI_ERR_TIMEOUT && has_all(keys) ? TUTTI_OK : code;
        });
    }

    std::string compare_set(const std::string& key, const std::string& expected,
                            const std::string& desired, const Deadline&) override {
        check_pair(key, desired.size());
        const Exchanged now = exchange("compare_set", key, expected, desired);
        return now.was_set ? desired : now.is_there ? now.value : expected;
    }

    bool delete_key(const std::string& key, const Deadline&) override {
        check_key(key);
        const tutti_slice name = slice_of(key);
        int32_t deleted = 0;
        ask("delete_key", key, at_->table.delete_key, &name, &deleted);
        const auto empty = [](const std::string&) { return std::string(); };
        return change_queue("delete_key", key, empty) || deleted != 0;
    }

    std::vector<std::string> multi_get(Keys keys, const WaitLimit& limit) override {
        wait(keys, limit);
        std::vector<std::string> values;
        for (const std::string& key : keys) values.push_back(get(key, limit));
        return values;
    }

    void multi_set(Pairs pairs, const Deadline& deadline) override {
        check_pairs(pairs);
        for (const auto& [key, value] : pairs) set(key, value, deadline);
    }

    int64_t num_keys(const Deadline& deadline) override {
        return static_cast<int64_t>(list_keys(deadline).size());
    }

    std::vector<std::string> list_keys(const Deadline&) override {
        if (at_->table.list_keys == nullptr) {
            throw Error(TUTTI_ERR_UNSUPPORTED, cat("the ", at_->where, " cannot tell its keys"));
        }
        Given given;
        with_context("list_keys", "", [&](tutti_error* error) {
            return at_->table.list_keys(at_->store, Given::take, &given, error);
        });
        if (given.failed) throw std::bad_alloc();
        std::erase_if(given.values, [](const auto& key) { return key.starts_with(queue_prefix); });
        return std::move(given.values);
    }

    // A queue is one value: each of its values behind its length, eight bytes.
    void queue_push(const std::string& key, const std::string& value,
                    const Deadline& /*deadline*/) override {
        check_pair(key, value.size());
        const uint64_t size = value.size();
        std::string packed(reinterpret_cast<const char*>(&size), sizeof size);
        packed += value;
        change_queue("queue_push", key, [&](const std::string& old) { return old + packed; });
    }

    std::string queue_pop(const std::string& key, bool block, const WaitLimit& limit) override {
        check_key(key);
        std::string value;
        const auto take_first = [&](const std::string& old) {
            if (old.empty()) return old;
            const size_t size = first_size(old);
            value = old.substr(length_bytes, size);
            return old.substr(length_bytes + size);
        };
        Pauses pauses = Pauses::between_looks();
        while (!change_queue("queue_pop", key, take_first)) {
            if (!block) fail_queue_empty(key, at_->where);
            if (limit.over()) fail_wait("queue_pop", Keys(&key, 1), at_->where, limit);
            limit.sleep(pauses.next());
        }
        return value;
    }

    int64_t queue_len(const std::string& key, const Deadline&) override {
        check_key(key);
        const std::string all = queue_of(key);
        int64_t count = 0;
        for (size_t at = 0; at < all.size(); at += length_bytes + first_size(all, at)) ++count;
        return count;
    }

    void barrier(const std::string& key, int64_t world_size, const WaitLimit& limit) override {
        check_barrier(key, world_size);
        const std::string last = key + "/last_member";
        try {
            if (add(key + "/num_members", 1, limit.deadline()) == world_size) {
                set(last, "1", limit.deadline());
            }
            wait(Keys(&last, 1), limit);
        } catch (const Error& error) {
            Status status = error.status();
            status.message = cat("barrier of ", key_text(key), ": ", status.message);
            throw Error(std::move(status));
        }
    }

    std::shared_ptr<Store> clone(const WaitLimit& /*limit*/) override {
        auto other = std::make_shared<UserStore>(at_);
        other->set_timeout_ms(timeout_ms());
        return other;
    }

private:
    struct Exchanged {
        bool was_set = false;
        bool is_there = false;
        std::string value;  // afterwards
    };

    // "get of key "a" at store "files": ...".
    template <typename Ask>
    void with_context(const char* operation, const std::string& keys, Ask&& ask) {
        tutti_error error = ext::empty_error();
        const tutti_status code = ask(&error);
        if (code == TUTTI_OK) return;
        Status status = ext::status_of(code, error);
        status.message = cat(operation, keys.empty() ? "" : " of ", keys, " at the ", at_->where,
                             ": ", status.message);
        throw Error(std::move(status));
    }

    template <typename Entry, typename... Arguments>
    void ask(const char* operation, const std::string& key, Entry entry, Arguments... arguments) {
        with_context(operation, key_text(key),
                     [&](tutti_error* error) { return entry(at_->store, arguments..., error); });
    }

    // Asks until the answer is no longer that the time is up, or until ours is.
    template <typename Ask>
    void ask_until(const char* operation, Keys keys, const WaitLimit& limit, Ask&& ask) {
        Pauses pauses = Pauses::between_looks();
        while (true) {
            const auto until = std::min(Clock::now() + max_question, limit.deadline().when());
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
            bool is_late = false;
            with_context(operation, keys_text(keys), [&](tutti_error* error) {
                const tutti_status code = ask(std::max<int64_t>(0, left.count()), error);
                is_late = code == TUTTI_ERR_TIMEOUT;
                return is_late ? TUTTI_OK : code;
            });
            if (!is_late) return;
            if (limit.over()) fail_wait(operation, keys, at_->where, limit);
            if (Clock::now() < until) limit.sleep(std::min(pauses.next(), until - Clock::now()));
        }
    }

    Exchanged exchange(const char* operation, const std::string& key, const std::string& expected,
                       const std::string& desired) {
        const tutti_slice name = slice_of(key);
        const tutti_slice from = slice_of(expected);
        const tutti_slice to = slice_of(desired);
        int32_t was_set = 0;
        Given given;
        ask(operation, key, at_->table.compare_set, &name, &from, &to, &was_set, Given::take,
            static_cast<void*>(&given));
        if (given.failed) throw std::bad_alloc();
        if (given.values.empty()) return {was_set != 0, false, {}};
        return {was_set != 0, true, std::move(given.values.front())};
    }

    std::string only(const char* operation, const std::string& key, Given& given) const {
        if (given.failed) throw std::bad_alloc();
        if (given.values.size() == 1) return std::move(given.values.front());
        throw Error(TUTTI_ERR_STORE, cat(operation, " of ", key_text(key), " at the ", at_->where,
                                         ": it gave ", given.values.size(), " values"));
    }

    static constexpr size_t length_bytes = sizeof(uint64_t);
    static constexpr const char* queue_prefix = "tutti/queue/";

    size_t first_size(const std::string& queue, size_t at = 0) const {
        uint64_t size = 0;
        const bool has_size = queue.size() - at >= length_bytes;
        if (has_size) std::memcpy(&size, queue.data() + at, sizeof size);
        if (has_size && size <= queue.size() - at - length_bytes) return size;
        throw Error(TUTTI_ERR_STORE, cat("a queue at the ", at_->where, " is none any more"));
    }

    // Empty: it is, or there is none.
    std::string queue_of(const std::string& key) {
        const std::string name = queue_prefix + key;
        if (!check_values(Keys(&name, 1))) return {};
        return get(name, Deadline::after_ms(0));
    }

    // False if `change` leaves it as it was.
    template <typename Change>
    bool change_queue(const char* operation, const std::string& key, Change&& change) {
        std::string old = queue_of(key);
        while (true) {
            std::string changed = change(old);
            if (changed == old) return false;
            Exchanged now = exchange(operation, queue_prefix + key, old, changed);
            if (now.was_set) return true;
            old = std::move(now.value);
        }
    }

    bool check_values(Keys keys) {
        const auto names = slices_of(keys);
        int32_t all = 0;
        with_context("check", keys_text(keys), [&](tutti_error* error) {
            return at_->table.check(at_->store, names.data(), names.size(), &all, error);
        });
        return all != 0;
    }

    // As values, or as queues that are not empty.
    bool has_all(Keys keys) {
        if (check_values(keys)) return true;
        return std::ranges::all_of(keys, [this](const std::string& key) {
            return check_values(Keys(&key, 1)) || !queue_of(key).empty();
        });
    }

    const std::shared_ptr<Opened> at_;
};

}  // namespace

std::shared_ptr<Store> make_user_store(const tutti_store_table& table, void* store) {
    return std::make_shared<UserStore>(std::make_shared<Opened>(table, store));
}

std::shared_ptr<Store> open_store_of_library(const std::string& name, const std::string& address,
                                             int64_t timeout_ms) {
    if (!ext::is_name(name)) {
        refuse("name is \"", name, "\", not 1 to 32 of a-z, 0-9, - and _");
    }
    ext::Library library;
    try {
        library = ext::find_library(name);
    } catch (const NoModule& missing) {
        throw Error(TUTTI_ERR_UNSUPPORTED,
                    cat("store \"", name, "\" is in no library here (", missing.what(), ")"));
    }
    const std::string owner = cat(library.place, ": ");
    if (library.module.store == nullptr) {
        throw Error(TUTTI_ERR_UNSUPPORTED, owner + "there is no store in it");
    }
    const tutti_store_table table = ext::read_table(library.module.store, owner);
    if (table.open == nullptr) refuse(owner, "open is NULL");
    void* opened = nullptr;
    ext::call(cat("opening store \"", name, "\": "), table.open, table.user, address.c_str(),
              timeout_ms, &opened);
    auto store = make_user_store(table, opened);
    store->set_timeout_ms(timeout_ms);
    return store;
}

}  // namespace tutti
