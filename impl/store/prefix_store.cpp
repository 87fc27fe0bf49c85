// A view of another store whose keys all begin with "prefix/". Any thread, as the other allows.
#include "base/error.hpp"
#include "keys.hpp"
#include "store.hpp"

namespace tutti {
namespace {

class PrefixStore final : public Store {
public:
    PrefixStore(std::string prefix, std::shared_ptr<Store> store)
        : prefix_(std::move(prefix) + '/'), store_(std::move(store)) {
        set_timeout_ms(store_->timeout_ms());
    }

    void set(const std::string& key, const std::string& value, const Deadline& deadline) override {
        store_->set(prefix_ + key, value, deadline);
    }
    std::string get(const std::string& key, const WaitLimit& limit) override {
        return store_->get(prefix_ + key, limit);
    }
    int64_t add(const std::string& key, int64_t amount, const Deadline& deadline) override {
        return store_->add(prefix_ + key, amount, deadline);
    }
    void append(const std::string& key, const std::string& value,
                const Deadline& deadline) override {
        store_->append(prefix_ + key, value, deadline);
    }
    bool check(Keys keys, const Deadline& deadline) override {
        return store_->check(with_prefix(keys), deadline);
    }
    void wait(Keys keys, const WaitLimit& limit) override {
        store_->wait(with_prefix(keys), limit);
    }
    std::string compare_set(const std::string& key, const std::string& expected,
                            const std::string& desired, const Deadline& deadline) override {
        return store_->compare_set(prefix_ + key, expected, desired, deadline);
    }
    bool delete_key(const std::string& key, const Deadline& deadline) override {
        return store_->delete_key(prefix_ + key, deadline);
    }
    std::vector<std::string> multi_get(Keys keys, const WaitLimit& limit) override {
        return store_->multi_get(with_prefix(keys), limit);
    }
    void multi_set(Pairs pairs, const Deadline& deadline) override {
        std::vector<std::pair<std::string, std::string>> prefixed;
        prefixed.reserve(pairs.size());
        for (const auto& [key, value] : pairs) prefixed.emplace_back(prefix_ + key, value);
        store_->multi_set(prefixed, deadline);
    }
    // The number of keys of the whole store: no protocol counts the keys of a prefix.
    int64_t num_keys(const Deadline& deadline) override { return store_->num_keys(deadline); }

    std::vector<std::string> list_keys(const Deadline& deadline) override {
        std::vector<std::string> keys = store_->list_keys(deadline);
        std::erase_if(keys, [this](const auto& key) { return !key.starts_with(prefix_); });
        for (std::string& key : keys) key.erase(0, prefix_.size());
        return keys;
    }

    void queue_push(const std::string& key, const std::string& value,
                    const Deadline& deadline) override {
        store_->queue_push(prefix_ + key, value, deadline);
    }
    std::string queue_pop(const std::string& key, bool block, const WaitLimit& limit) override {
        return store_->queue_pop(prefix_ + key, block, limit);
    }
    int64_t queue_len(const std::string& key, const Deadline& deadline) override {
        return store_->queue_len(prefix_ + key, deadline);
    }
    // PyTorch's prefix stores make no use of the other store's barrier, and count so instead: they
    // and we can come to one barrier.
    void barrier(const std::string& key, int64_t world_size, const WaitLimit& limit) override {
        check_barrier(key, world_size);
        const std::string last = prefix_ + key + "/last_member";
        try {
            if (store_->add(prefix_ + key + "/num_members", 1, limit.deadline()) == world_size)
                store_->set(last, "1", limit.deadline());
            store_->wait(Keys(&last, 1), limit);
        } catch (const Error& error) {
            Status status = error.status();
            status.message = cat("barrier of ", key_text(key), ": ", status.message);
            throw Error(std::move(status));
        }
    }

    std::shared_ptr<Store> clone(const WaitLimit& limit) override {
        auto other = make_prefix_store(prefix_.substr(0, prefix_.size() - 1), store_->clone(limit));
        other->set_timeout_ms(timeout_ms());
        return other;
    }
    void flush(const WaitLimit& limit) override { store_->flush(limit); }
    // The other store's calls that are not interrupted go on waiting.
    void wake_waiting() override { store_->wake_waiting(); }
    [[nodiscard]] bool has_extended_api() const override { return store_->has_extended_api(); }
    [[nodiscard]] std::shared_ptr<Store> underlying() const { return store_; }

    [[nodiscard]] std::optional<std::string> local_address() const override {
        return store_->local_address();
    }
    [[nodiscard]] std::optional<std::string> remote_address() const override {
        return store_->remote_address();
    }
    [[nodiscard]] std::vector<std::string> remote_addresses() const override {
        return store_->remote_addresses();
    }
    [[nodiscard]] bool only_this_host() const override { return store_->only_this_host(); }
    [[nodiscard]] bool is_served_here() const override { return store_->is_served_here(); }
    [[nodiscard]] Status lack_of_server() const override { return store_->lack_of_server(); }
    [[nodiscard]] bool has_lost_server() const override { return store_->has_lost_server(); }

private:
    [[nodiscard]] std::vector<std::string> with_prefix(Keys keys) const {
        std::vector<std::string> prefixed;
        prefixed.reserve(keys.size());
        for (const std::string& key : keys) prefixed.push_back(prefix_ + key);
        return prefixed;
    }

    const std::string prefix_;
    const std::shared_ptr<Store> store_;
};

}  // namespace

std::shared_ptr<Store> make_prefix_store(std::string prefix, std::shared_ptr<Store> store) {
    if (store == nullptr)
        throw Error(TUTTI_ERR_INVALID_ARGUMENT, "prefix store: there is no store to prefix");
    return std::make_shared<PrefixStore>(std::move(prefix), std::move(store));
}

std::shared_ptr<Store> prefix_store_underlying(const Store& store) {
    const auto* prefixed = dynamic_cast<const PrefixStore*>(&store);
    return prefixed == nullptr ? nullptr : prefixed->underlying();
}

}  // namespace tutti
