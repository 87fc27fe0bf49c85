// A view of another store whose keys all begin with "prefix/". Any thread, as the other allows.
#include "base/error.hpp"
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
    std::string get(const std::string& key, const Deadline& deadline) override {
        return store_->get(prefix_ + key, deadline);
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
    void wait(Keys keys, const Deadline& deadline) override {
        store_->wait(with_prefix(keys), deadline);
    }
    std::string compare_set(const std::string& key, const std::string& expected,
                            const std::string& desired, const Deadline& deadline) override {
        return store_->compare_set(prefix_ + key, expected, desired, deadline);
    }
    bool delete_key(const std::string& key, const Deadline& deadline) override {
        return store_->delete_key(prefix_ + key, deadline);
    }
    std::vector<std::string> multi_get(Keys keys, const Deadline& deadline) override {
        return store_->multi_get(with_prefix(keys), deadline);
    }
    void multi_set(Pairs pairs, const Deadline& deadline) override {
        std::vector<std::pair<std::string, std::string>> prefixed;
        prefixed.reserve(pairs.size());
        for (const auto& [key, value] : pairs) prefixed.emplace_back(prefix_ + key, value);
        store_->multi_set(prefixed, deadline);
    }
    // Of the whole store: no protocol counts the keys of a prefix.
    int64_t num_keys(const Deadline& deadline) override { return store_->num_keys(deadline); }

    [[nodiscard]] std::optional<std::string> local_address() const override {
        return store_->local_address();
    }
    [[nodiscard]] std::optional<std::string> remote_address() const override {
        return store_->remote_address();
    }

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

}  // namespace tutti
