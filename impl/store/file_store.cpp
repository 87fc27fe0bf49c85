// A store in a file that all processes reach, in PyTorch's layout. Clones share the table of the
// file. Any thread.
#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "file_table.hpp"
#include "keys.hpp"
#include "store.hpp"

namespace tutti {
namespace {

using Strings = std::vector<std::string>;

// Callers' keys carry "/" in front; what has not is invisible to them.
std::string file_key(const std::string& key) {
    return '/' + key;
}

// A queue is a value for each entry, and the numbers of the first and of the next one to come. An
// empty one has neither. PyTorch's stores have no queues in files, and pass over these keys.
std::string first_key(const std::string& key) {
    return "first/" + key;
}
std::string next_key(const std::string& key) {
    return "next/" + key;
}
std::string entry_key(const std::string& key, int64_t number) {
    return cat("entry/", number, '/', key);
}

int64_t number_at(const Table& table, const std::string& key) {
    const std::string* value = table.find(key);
    return value == nullptr ? 0 : add_to_counter(key, *value, 0);
}

int64_t queue_length(const Table& table, const std::string& key) {
    return number_at(table, next_key(key)) - number_at(table, first_key(key));
}

Strings push(Table& table, const std::string& key, const std::string& value) {
    const std::string entry = entry_key(key, number_at(table, next_key(key)));
    table.set(entry, value);
    table.add(first_key(key), 0);
    table.add(next_key(key), 1);
    return {entry, first_key(key), next_key(key)};
}

Strings pop(Table& table, const std::string& key, std::optional<std::string>& value) {
    if (queue_length(table, key) <= 0) return {};
    const std::string entry = entry_key(key, number_at(table, first_key(key)));
    const std::string* there = table.find(entry);
    value = there == nullptr ? std::string() : *there;
    table.erase(entry);
    table.add(first_key(key), 1);
    if (queue_length(table, key) > 0) return {entry, first_key(key)};
    table.erase(first_key(key));
    table.erase(next_key(key));
    return {entry, first_key(key), next_key(key)};
}

bool has_all(const Table& table, Store::Keys keys) {
    return std::all_of(keys.begin(), keys.end(), [&](const auto& key) {
        return table.has(file_key(key)) || table.has(next_key(key));
    });
}

void check_file_pair(const std::string& key, size_t value_bytes) {
    check_pair(key, value_bytes);
    static_assert(StoreLimits().value_bytes <= std::numeric_limits<uint32_t>::max(),
                  "the file's lengths have 32 bits");
}

class FileStore final : public Store {
public:
    explicit FileStore(std::shared_ptr<FileTable> file)
        : file_(std::move(file)), where_(cat("file store \"", file_->path(), "\"")) {}

    [[nodiscard]] const std::string& path() const { return file_->path(); }

    void set(const std::string& key, const std::string& value, const Deadline& deadline) override {
        check_file_pair(key, value.size());
        file_->write(deadline, [&](Table& table) {
            table.set(file_key(key), value);
            return Strings{file_key(key)};
        });
    }

    std::string get(const std::string& key, const WaitLimit& limit) override {
        return std::move(fetch("get", Keys(&key, 1), limit).front());
    }

    int64_t add(const std::string& key, int64_t amount, const Deadline& deadline) override {
        check_key(key);
        int64_t sum = 0;
        file_->write(deadline, [&](Table& table) {
            sum = table.add(file_key(key), amount);
            return Strings{file_key(key)};
        });
        return sum;
    }

    void append(const std::string& key, const std::string& value,
                const Deadline& deadline) override {
        check_file_pair(key, value.size());
        file_->write(deadline, [&](Table& table) {
            table.append(file_key(key), value);
            return Strings{file_key(key)};
        });
    }

    bool check(Keys keys, const Deadline& deadline) override {
        check_keys(keys);
        return file_->read(deadline, [&](const Table& table) { return has_all(table, keys); });
    }

    void wait(Keys keys, const WaitLimit& limit) override { (void)fetch("wait", keys, limit); }

    std::string compare_set(const std::string& key, const std::string& expected,
                            const std::string& desired, const Deadline& deadline) override {
        check_file_pair(key, desired.size());
        std::string result;
        file_->write(deadline, [&](Table& table) {
            const std::string* before = table.find(file_key(key));
            const bool swaps = before == nullptr ? expected.empty() : *before == expected;
            result = table.compare_set(file_key(key), expected, desired);
            return swaps ? Strings{file_key(key)} : Strings{};
        });
        return result;
    }

    bool delete_key(const std::string& key, const Deadline& deadline) override;
    std::vector<std::string> multi_get(Keys keys, const WaitLimit& limit) override {
        return fetch("multi_get", keys, limit);
    }

    void multi_set(Pairs pairs, const Deadline& deadline) override {
        check_pairs(pairs);
        file_->write(deadline, [&](Table& table) {
            Strings changed;
            for (const auto& [key, value] : pairs) {
                table.set(file_key(key), value);
                changed.push_back(file_key(key));
            }
            return changed;
        });
    }

    int64_t num_keys(const Deadline& deadline) override {
        return static_cast<int64_t>(list_keys(deadline).size());
    }

    std::vector<std::string> list_keys(const Deadline& deadline) override {
        Strings keys;
        file_->read(deadline, [&](const Table& table) {
            for (const std::string& key : table.keys())
                if (key.starts_with('/')) keys.push_back(key.substr(1));
            return true;
        });
        return keys;
    }

    void queue_push(const std::string& key, const std::string& value,
                    const Deadline& deadline) override {
        check_file_pair(key, value.size());
        file_->write(deadline, [&](Table& table) { return push(table, key, value); });
    }

    std::string queue_pop(const std::string& key, bool block, const WaitLimit& limit) override;
    int64_t queue_len(const std::string& key, const Deadline& deadline) override {
        check_key(key);
        int64_t length = 0;
        file_->read(deadline, [&](const Table& table) {
            length = queue_length(table, key);
            return true;
        });
        return length;
    }

    void barrier(const std::string& key, int64_t world_size, const WaitLimit& limit) override;

    std::shared_ptr<Store> clone(const WaitLimit&) override {
        auto other = std::make_shared<FileStore>(file_);
        other->set_timeout_ms(timeout_ms());
        return other;
    }

private:
    std::vector<std::string> fetch(const char* operation, Keys keys, const WaitLimit& limit);

    const std::shared_ptr<FileTable> file_;
    const std::string where_;
};

bool FileStore::delete_key(const std::string& key, const Deadline& deadline) {
    check_key(key);
    bool deleted = false;
    file_->write(deadline, [&](Table& table) {
        Strings changed;
        std::optional<std::string> value;
        while (queue_length(table, key) > 0)
            for (std::string& one : pop(table, key, value)) changed.push_back(std::move(one));
        if (table.erase(file_key(key))) changed.push_back(file_key(key));
        deleted = !changed.empty();
        return changed;
    });
    return deleted;
}

std::vector<std::string> FileStore::fetch(const char* operation, Keys keys,
                                          const WaitLimit& limit) {
    check_keys(keys);
    std::vector<std::string> values(keys.size());
    const bool found = file_->read_until(limit, [&](const Table& table) {
        if (!has_all(table, keys)) return false;
        for (size_t i = 0; i < keys.size(); ++i) {
            const std::string* value = table.find(file_key(keys[i]));
            if (value != nullptr) values[i] = *value;  // else it is a queue's
        }
        return true;
    });
    if (!found) fail_wait(operation, keys, where_, limit);
    return values;
}

std::string FileStore::queue_pop(const std::string& key, bool block, const WaitLimit& limit) {
    check_key(key);
    std::optional<std::string> value;
    const auto take = [&](Table& table) { return pop(table, key, value); };
    const auto is_there = [&](const Table& table) { return queue_length(table, key) > 0; };
    while (true) {
        file_->write(limit, take);
        if (value) return std::move(*value);
        if (!block) fail_queue_empty(key, where_);
        if (!file_->read_until(limit, is_there))
            fail_wait("queue_pop", Keys(&key, 1), where_, limit);
    }
}

// As PyTorch's stores do it in a file, so that both can come to one barrier.
void FileStore::barrier(const std::string& key, int64_t world_size, const WaitLimit& limit) {
    check_barrier(key, world_size);
    const std::string count = file_key(key + "/num_members");
    const std::string last = file_key(key + "/last_member");
    file_->write(limit, [&](Table& table) {
        if (table.add(count, 1) != world_size) return Strings{count};
        table.set(last, "1");
        return Strings{count, last};
    });
    if (!file_->read_until(limit, [&](const Table& table) { return table.has(last); }))
        fail_wait("barrier", Keys(&key, 1), where_, limit);
}

}  // namespace

std::shared_ptr<Store> make_file_store(const std::string& path, int world_size, int rank,
                                       const Deadline& deadline) {
    if (path.empty()) throw Error(TUTTI_ERR_INVALID_ARGUMENT, "file store: the path is empty");
    if (world_size == 0 || world_size < -1)
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("file store: a world size of ", world_size, " is not possible"));
    return std::make_shared<FileStore>(
        std::make_shared<FileTable>(path, world_size, deadline, rank));
}

std::optional<std::string> file_store_path(const Store& store) {
    const auto* file = dynamic_cast<const FileStore*>(&store);
    return file == nullptr ? std::nullopt : std::optional(file->path());
}

}  // namespace tutti
