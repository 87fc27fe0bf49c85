// A store within one process: a table, a mutex, and a condition that every change notifies. Any
// thread.
#include "base/mutex.hpp"
#include "keys.hpp"
#include "store.hpp"
#include "table.hpp"

namespace tutti {
namespace {

class HashStore final : public Store {
public:
    void set(const std::string& key, const std::string& value, const Deadline&) override {
        check_key(key);
        const Lock lock(mutex_);
        table_.set(key, value);
        changed_.notify_all();
    }

    std::string get(const std::string& key, const Deadline& deadline) override {
        const Keys keys(&key, 1);
        check_keys(keys);
        Lock lock(mutex_);
        wait_for("get", keys, deadline, lock);
        return *table_.find(key);
    }

    int64_t add(const std::string& key, int64_t amount, const Deadline&) override {
        check_key(key);
        const Lock lock(mutex_);
        const int64_t sum = table_.add(key, amount);
        changed_.notify_all();
        return sum;
    }

    void append(const std::string& key, const std::string& value, const Deadline&) override {
        check_key(key);
        const Lock lock(mutex_);
        table_.append(key, value);
        changed_.notify_all();
    }

    bool check(Keys keys, const Deadline&) override {
        check_keys(keys);
        const Lock lock(mutex_);
        return table_.has_all(keys);
    }

    void wait(Keys keys, const Deadline& deadline) override {
        check_keys(keys);
        Lock lock(mutex_);
        wait_for("wait", keys, deadline, lock);
    }

    std::string compare_set(const std::string& key, const std::string& expected,
                            const std::string& desired, const Deadline&) override {
        check_key(key);
        const Lock lock(mutex_);
        std::string value = table_.compare_set(key, expected, desired);
        changed_.notify_all();
        return value;
    }

    bool delete_key(const std::string& key, const Deadline&) override {
        check_key(key);
        const Lock lock(mutex_);
        return table_.erase(key);
    }

    std::vector<std::string> multi_get(Keys keys, const Deadline& deadline) override {
        check_keys(keys);
        Lock lock(mutex_);
        wait_for("multi_get", keys, deadline, lock);
        std::vector<std::string> values;
        values.reserve(keys.size());
        for (const std::string& key : keys) values.push_back(*table_.find(key));
        return values;
    }

    void multi_set(Pairs pairs, const Deadline&) override {
        check_pairs(pairs);
        const Lock lock(mutex_);
        for (const auto& [key, value] : pairs) table_.set(key, value);
        changed_.notify_all();
    }

    int64_t num_keys(const Deadline&) override {
        const Lock lock(mutex_);
        return static_cast<int64_t>(table_.size());
    }

private:
    void wait_for(const char* operation, Keys keys, const Deadline& deadline, Lock& lock)
        TUTTI_REQUIRES(mutex_) {
        while (!table_.has_all(keys)) {
            if (changed_.wait(lock, deadline) || table_.has_all(keys)) continue;
            std::vector<std::string> missing;
            for (const std::string& key : keys)
                if (!table_.has(key)) missing.push_back(key);
            fail_timed_out(operation, missing, "hash store");
        }
    }

    Mutex mutex_;
    Condition changed_;
    Table table_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<Store> make_hash_store() {
    return std::make_shared<HashStore>();
}

}  // namespace tutti
