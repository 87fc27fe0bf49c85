#include "loopback.hpp"

#include <unistd.h>

#include <atomic>
#include <map>
#include <utility>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "control/absence.hpp"
#include "hub.hpp"

namespace tutti::loopback {

namespace {

class LoopbackChannel : public Channel {
public:
    LoopbackChannel(const char* name, std::string identity, std::shared_ptr<Hub> hub, int rank,
                    int size)
        : Channel(rank, size), name_(name), identity_(std::move(identity)), hub_(std::move(hub)) {}
    ~LoopbackChannel() override { hub_->leave(rank()); }

    [[nodiscard]] const char* name() const override { return name_; }
    [[nodiscard]] bool same_host(int /*peer*/) const override { return true; }

    void post_send(Transfer& transfer, int peer, Slot slot, const void* data,
                   size_t bytes) override {
        hub_->post({&transfer, rank(), peer, true, slot.value(), const_cast<void*>(data), bytes});
    }
    void post_receive(Transfer& transfer, int peer, Slot slot, void* data, size_t bytes) override {
        hub_->post({&transfer, rank(), peer, false, slot.value(), data, bytes});
    }
    void post_receive_any(Transfer& transfer, Slot slot, void* data, size_t bytes) override {
        hub_->post({&transfer, rank(), -1, false, slot.value(), data, bytes});
    }
    void report(const Status& cause) noexcept override { hub_->abort_others(rank(), cause); }
    void stalled(uint64_t number, const std::string& call) noexcept override {
        hub_->stalled(rank(), {number, call});
    }
    void abort(const Status& status) noexcept override { hub_->abort(rank(), status); }
    void leave() noexcept override { hub_->leave(rank()); }

    [[nodiscard]] std::string identity() const override { return identity_; }
    [[nodiscard]] Status trouble(int peer) const override { return hub_->trouble(rank(), peer); }
    std::optional<std::string> reserve(const std::string& /*path*/) override { return ""; }
    std::unique_ptr<Channel> branch(const Branch& branch) override {
        const auto size = static_cast<int>(branch.ranks.size());
        // Of the groups that one step makes, each has another first rank.
        const std::string name = cat(branch.path, "-", branch.ranks.front());
        return std::make_unique<LoopbackChannel>(name_, cat(identity_, "/", name),
                                                 hub_->branch(name, size), branch.rank, size);
    }

private:
    const char* const name_;
    const std::string identity_;  // process and number of the hub
    const std::shared_ptr<Hub> hub_;
};

// The hubs of this process that a rank 0 has made and others may still look for.
class Hubs {
public:
    std::string add(const std::shared_ptr<Hub>& hub) {
        const Lock lock(mutex_);
        std::erase_if(hubs_, [](const auto& entry) { return entry.second.expired(); });
        hubs_[++last_] = hub;
        return cat(getpid(), "/", last_);
    }
    std::shared_ptr<Hub> find(const std::string& address) {
        const size_t slash = address.find('/');
        const auto part = [&](size_t begin, size_t count, const char* what) {
            return parse_number(address.substr(begin, count), what, 0, INT64_MAX);
        };
        if (slash == std::string::npos || part(0, slash, "process of rank 0") != getpid()) {
            throw Error(TUTTI_ERR_UNSUPPORTED,
                        cat("backend loopback joins threads of one process, and rank 0 is at \"",
                            address, "\", not in process ", getpid()));
        }
        const auto number = part(slash + 1, std::string::npos, "hub of rank 0");
        const Lock lock(mutex_);
        const auto found = hubs_.find(number);
        auto hub = found == hubs_.end() ? nullptr : found->second.lock();
        if (!hub) {
            throw Error(TUTTI_ERR_PEER_LOST, "rank 0 left before the others had come", 0);
        }
        return hub;
    }

private:
    Mutex mutex_;
    int64_t last_ TUTTI_GUARDED_BY(mutex_) = 0;
    std::map<int64_t, std::weak_ptr<Hub>> hubs_ TUTTI_GUARDED_BY(mutex_);
};

Hubs& hubs() {
    static Hubs& all = *new Hubs;  // outlives every group that a program forgets to end
    return all;
}

std::string find_address(Store& store, const std::string& key, const Deadline& deadline) {
    try {
        return store.get(key, deadline);
    } catch (const Error& error) {
        if (error.status().code != TUTTI_ERR_TIMEOUT) throw;
        throw control::have_not_come("0");
    }
}

}  // namespace

std::unique_ptr<Channel> connect(Store& store, int rank, int size, const Deadline& deadline) {
    const std::string key = "loopback/hub";
    std::shared_ptr<Hub> hub;
    std::string address;
    if (rank == 0) {
        hub = std::make_shared<Hub>(size);
        address = hubs().add(hub);
        store.set(key, address, deadline);
    } else {
        address = find_address(store, key, deadline);
        hub = hubs().find(address);
    }
    hub->meet(rank, deadline);
    // The next group on this store shall not take it for its own.
    if (rank == 0) store.delete_key(key, deadline);
    return std::make_unique<LoopbackChannel>("loopback", address, std::move(hub), rank, size);
}

std::unique_ptr<Channel> alone(const char* name) {
    auto hub = std::make_shared<Hub>(1);
    std::string address = hubs().add(hub);
    return std::make_unique<LoopbackChannel>(name, std::move(address), std::move(hub), 0, 1);
}

}  // namespace tutti::loopback
