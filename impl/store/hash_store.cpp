// A store within one process: a table, a mutex, and a condition that every change notifies. Clones
// share them. Any thread.
#include "base/mutex.hpp"
#include "keys.hpp"
#include "store.hpp"
#include "table.hpp"

namespace tutti {
namespace {

constexpr const char* name_in_errors = "hash store";

// A caller at a barrier. The caller that comes last marks the others, so that they need not find
// the count, which may be deleted by then.
struct Waiter {
    const std::string& key;
    int64_t world_size;
    bool all_came = false;
};

struct Shared {
    Mutex mutex;
    Condition changed;
    Table table TUTTI_GUARDED_BY(mutex);
    std::vector<Waiter*> at_barriers TUTTI_GUARDED_BY(mutex);
};

class HashStore final : public Store {
public:
    explicit HashStore(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

    void set(const std::string& key, const std::string& value, const Deadline&) override {
        check_key(key);
        const Lock lock(shared_->mutex);
        shared_->table.set(key, value);
        shared_->changed.notify_all();
    }

    std::string get(const std::string& key, const WaitLimit& limit) override {
        return std::move(fetch("get", Keys(&key, 1), limit).front());
    }

    int64_t add(const std::string& key, int64_t amount, const Deadline&) override {
        check_key(key);
        const Lock lock(shared_->mutex);
        const int64_t sum = shared_->table.add(key, amount);
        shared_->changed.notify_all();
        return sum;
    }

    void append(const std::string& key, const std::string& value, const Deadline&) override {
        check_key(key);
        const Lock lock(shared_->mutex);
        shared_->table.append(key, value);
        shared_->changed.notify_all();
    }

    bool check(Keys keys, const Deadline&) override {
        check_keys(keys);
        const Lock lock(shared_->mutex);
        return shared_->table.has_all(keys);
    }

    void wait(Keys keys, const WaitLimit& limit) override {
        check_keys(keys);
        Lock lock(shared_->mutex);
        wait_for("wait", keys, limit, lock);
    }

    std::string compare_set(const std::string& key, const std::string& expected,
                            const std::string& desired, const Deadline&) override {
        check_key(key);
        const Lock lock(shared_->mutex);
        std::string value = shared_->table.compare_set(key, expected, desired);
        shared_->changed.notify_all();
        return value;
    }

    bool delete_key(const std::string& key, const Deadline&) override {
        check_key(key);
        const Lock lock(shared_->mutex);
        return shared_->table.erase(key);
    }

    std::vector<std::string> multi_get(Keys keys, const WaitLimit& limit) override {
        return fetch("multi_get", keys, limit);
    }

    void multi_set(Pairs pairs, const Deadline&) override {
        check_pairs(pairs);
        const Lock lock(shared_->mutex);
        for (const auto& [key, value] : pairs) shared_->table.set(key, value);
        shared_->changed.notify_all();
    }

    int64_t num_keys(const Deadline&) override {
        const Lock lock(shared_->mutex);
        return static_cast<int64_t>(shared_->table.size());
    }

    std::vector<std::string> list_keys(const Deadline&) override {
        const Lock lock(shared_->mutex);
        return shared_->table.keys();
    }

    void queue_push(const std::string& key, const std::string& value, const Deadline&) override {
        check_key(key);
        const Lock lock(shared_->mutex);
        shared_->table.push(key, value);
        shared_->changed.notify_all();
    }

    std::string queue_pop(const std::string& key, bool block, const WaitLimit& limit) override {
        check_key(key);
        Lock lock(shared_->mutex);
        while (true) {
            if (auto value = shared_->table.pop(key)) return std::move(*value);
            if (!block) fail_queue_empty(key, name_in_errors);
            if (!await_change(limit, lock) && shared_->table.queue_length(key) == 0)
                fail_wait("queue_pop", Keys(&key, 1), name_in_errors, limit);
        }
    }

    int64_t queue_len(const std::string& key, const Deadline&) override {
        check_key(key);
        const Lock lock(shared_->mutex);
        return static_cast<int64_t>(shared_->table.queue_length(key));
    }

    void barrier(const std::string& key, int64_t world_size, const WaitLimit& limit) override {
        check_barrier(key, world_size);
        Waiter self{key, world_size};
        Lock lock(shared_->mutex);
        const int64_t come = shared_->table.add(key, 1);
        for (Waiter* waiter : shared_->at_barriers)
            if (waiter->key == key && come >= waiter->world_size) waiter->all_came = true;
        shared_->changed.notify_all();
        if (come >= world_size) return;
        shared_->at_barriers.push_back(&self);
        while (!self.all_came && await_change(limit, lock)) {
        }
        std::erase(shared_->at_barriers, &self);
        if (!self.all_came) fail_wait("barrier", Keys(&key, 1), name_in_errors, limit);
    }

    std::shared_ptr<Store> clone(const WaitLimit&) override {
        auto other = std::make_shared<HashStore>(shared_);
        other->set_timeout_ms(timeout_ms());
        return other;
    }

    void wake_waiting() override {
        const Lock lock(shared_->mutex);
        shared_->changed.notify_all();
    }

private:
    std::vector<std::string> fetch(const char* operation, Keys keys, const WaitLimit& limit) {
        check_keys(keys);
        Lock lock(shared_->mutex);
        wait_for(operation, keys, limit, lock);
        std::vector<std::string> values;
        values.reserve(keys.size());
        for (const std::string& key : keys) {
            const std::string* value = shared_->table.find(key);
            values.push_back(value == nullptr ? "" : *value);  // it is a queue's
        }
        return values;
    }

    // False if the wait is over.
    bool await_change(const WaitLimit& limit, Lock& lock) TUTTI_REQUIRES(shared_->mutex) {
        return !limit.interrupted() && shared_->changed.wait(lock, limit.deadline());
    }

    void wait_for(const char* operation, Keys keys, const WaitLimit& limit, Lock& lock)
        TUTTI_REQUIRES(shared_->mutex) {
        while (!shared_->table.has_all(keys)) {
            if (await_change(limit, lock) || shared_->table.has_all(keys)) continue;
            std::vector<std::string> missing;
            for (const std::string& key : keys)
                if (!shared_->table.has(key)) missing.push_back(key);
            fail_wait(operation, missing, name_in_errors, limit);
        }
    }

    const std::shared_ptr<Shared> shared_;
};

}  // namespace

std::shared_ptr<Store> make_hash_store() {
    return std::make_shared<HashStore>(std::make_shared<Shared>());
}

}  // namespace tutti
