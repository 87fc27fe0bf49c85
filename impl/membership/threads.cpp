#include "threads.hpp"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "arbiter.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "missing_ranks.hpp"
#include "options.hpp"

namespace tutti {

namespace {

using membership::Arbiter;
using membership::Frame;
using membership::FrameReader;

constexpr int64_t withdrawal_ms = 1000;

// Receives the arbiter's frames for a rank.
class Recipient {
public:
    virtual void receive(const std::string& bytes) noexcept = 0;

protected:
    ~Recipient() = default;
};

// Connects the ranks of one world. Frames of the arbiter wait in a queue; one thread at a time, any
// that has sent a frame, delivers them without a lock.
class Hub {
public:
    explicit Hub(int size)
        : arbiter_(size, [this](int rank, const std::string& frame)
                             TUTTI_REQUIRES(mutex_) { queue_.emplace_back(rank, frame); }),
          ranks_(static_cast<size_t>(size)) {}

    // Returns when all ranks have come; TIMEOUT names those that have not, or gave up before that.
    void join(int rank, Recipient& recipient, const std::string& options,
              const Deadline& deadline) {
        Lock lock(mutex_);
        Rank& mine = ranks_[static_cast<size_t>(rank)];
        if (mine.recipient != nullptr) {
            throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                        cat("another thread has already joined as rank ", rank), rank);
        }
        mine.recipient = &recipient;
        mine.options = options;
        if (missing().empty()) {  // some may go before others have noticed
            all_have_come_ = true;
            changed_.notify_all();
        }
        while (!all_have_come_) {
            if (changed_.wait(lock, deadline) || all_have_come_) continue;
            throw membership::missing_ranks_error(membership::list_of_ranks(missing()));
        }
        arbiter_.enter(rank);
        std::vector<std::string> of_ranks;
        for (const Rank& one : ranks_) of_ranks.push_back(one.options);
        membership::compare_options(of_ranks);
    }

    // The others never come here.
    void join_alone(int rank, Recipient& recipient) {
        const Lock lock(mutex_);
        ranks_[static_cast<size_t>(rank)].recipient = &recipient;
        for (int one = 0; one < static_cast<int>(ranks_.size()); ++one) arbiter_.enter(one);
    }

    void send(int rank, const std::string& bytes) {
        act([&](Arbiter& arbiter) {
            FrameReader().feed(std::as_bytes(std::span(bytes)), [&](const Frame& frame) {
                arbiter.handle(rank, frame);
                return true;
            });
        });
    }
    void suspect(const Status& suspicion) {
        act([&](Arbiter& arbiter) {
            if (arbiter.is_member(suspicion.rank)) arbiter.declare_lost(suspicion);
        });
    }

    // Nothing is brought to that rank when this returns.
    void forget(int rank) {
        Lock lock(mutex_);
        ranks_[static_cast<size_t>(rank)].recipient = nullptr;
        while (serving_ == rank) changed_.wait(lock);
    }

private:
    struct Rank {
        Recipient* recipient = nullptr;
        std::string options;
    };

    template <typename Act>
    void act(Act&& what) {
        Lock lock(mutex_);
        what(arbiter_);
        arbiter_.announce_departures();
        if (is_serving_) return;  // that thread goes on
        is_serving_ = true;
        while (!queue_.empty()) {
            const auto [rank, bytes] = std::move(queue_.front());
            queue_.pop_front();
            Recipient* const recipient = ranks_[static_cast<size_t>(rank)].recipient;
            if (recipient == nullptr) continue;
            serving_ = rank;
            lock.unlock();
            recipient->receive(bytes);
            lock.lock();
            serving_ = -1;
            changed_.notify_all();
        }
        is_serving_ = false;
    }

    [[nodiscard]] std::vector<int> missing() const TUTTI_REQUIRES(mutex_) {
        std::vector<int> absent;
        for (size_t rank = 0; rank < ranks_.size(); ++rank) {
            if (ranks_[rank].recipient == nullptr) absent.push_back(static_cast<int>(rank));
        }
        return absent;
    }

    Mutex mutex_;
    Condition changed_;
    std::deque<std::pair<int, std::string>> queue_ TUTTI_GUARDED_BY(mutex_);
    Arbiter arbiter_ TUTTI_GUARDED_BY(mutex_);
    std::vector<Rank> ranks_ TUTTI_GUARDED_BY(mutex_);
    bool all_have_come_ TUTTI_GUARDED_BY(mutex_) = false;
    bool is_serving_ TUTTI_GUARDED_BY(mutex_) = false;
    int serving_ TUTTI_GUARDED_BY(mutex_) = -1;
};

class ThreadWorld : public World, private Recipient {
public:
    ThreadWorld(std::shared_ptr<Hub> hub, std::string identity, int rank, int size)
        : World(rank, size), hub_(std::move(hub)), identity_(std::move(identity)) {}
    ~ThreadWorld() override {
        end_resources();
        hub_->forget(rank());
    }

    void join(const std::string& options, const Deadline& deadline) {
        hub_->join(rank(), *this, options, deadline);
    }
    void join_alone() { hub_->join_alone(rank(), *this); }

    [[nodiscard]] std::string identity() const override { return identity_; }
    [[nodiscard]] bool same_host(int /*rank*/) const override { return true; }
    [[nodiscard]] bool is_one_process() const override { return true; }
    [[nodiscard]] Routes routes() const override {
        const std::vector<std::string> here{"127.0.0.1"};
        return {here, std::vector<std::vector<std::string>>(static_cast<size_t>(size()), here)};
    }

    void send(std::string frame) noexcept override { hub_->send(rank(), frame); }
    void suspect(const Status& suspicion) noexcept override { hub_->suspect(suspicion); }
    void leave() noexcept override {}

private:
    void receive(const std::string& bytes) noexcept override {
        FrameReader().feed(std::as_bytes(std::span(bytes)), [this](const Frame& frame) {
            handle(frame);
            return true;
        });
    }

    const std::shared_ptr<Hub> hub_;
    const std::string identity_;  // process, and number of the assembly
};

class UnwatchedWorld final : public ThreadWorld {
public:
    UnwatchedWorld(std::shared_ptr<Hub> hub, std::string identity, int rank, int size)
        : ThreadWorld(std::move(hub), std::move(identity), rank, size) {}

    [[nodiscard]] bool same_host(int rank) const override { return rank == this->rank(); }
    [[nodiscard]] bool is_one_process() const override { return false; }
};

// The assemblies of this process that a rank 0 has made and others may still look for.
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
        const auto number = part(slash + 1, std::string::npos, "group of rank 0");
        const Lock lock(mutex_);
        const auto found = hubs_.find(number);
        auto hub = found == hubs_.end() ? nullptr : found->second.lock();
        if (!hub) {
            throw Error(TUTTI_ERR_PEER_LOST, "rank 0 left before the others had joined", 0);
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
        throw membership::missing_ranks_error("0");
    }
}

// The next group on this store shall not take it for its own.
void withdraw_address(Store& store, const std::string& key) noexcept {
    try {
        store.delete_key(key, Deadline::after_ms(withdrawal_ms));
    } catch (...) {  // of a store that has gone before us
        log(LogLevel::Debug, "control: ", current_status().message);
    }
}

}  // namespace

std::shared_ptr<World> bootstrap_threads(const std::shared_ptr<Store>& store, int rank, int size,
                                         const std::string& options, const Deadline& deadline) {
    const std::string key = "loopback/hub";
    std::shared_ptr<Hub> hub;
    std::string address;
    if (rank == 0) {
        hub = std::make_shared<Hub>(size);
        address = hubs().add(hub);
        store->set(key, address, deadline);
    } else {
        address = find_address(*store, key, deadline);
        hub = hubs().find(address);
    }
    auto world = std::make_shared<ThreadWorld>(std::move(hub), address, rank, size);
    try {
        world->join(options, deadline);
    } catch (...) {
        if (rank == 0) withdraw_address(*store, key);
        throw;
    }
    if (rank == 0) withdraw_address(*store, key);
    return world;
}

std::shared_ptr<World> world_of_one() {
    auto hub = std::make_shared<Hub>(1);
    std::string address = hubs().add(hub);
    auto world = std::make_shared<ThreadWorld>(std::move(hub), std::move(address), 0, 1);
    world->join("", Deadline::never());
    return world;
}

std::shared_ptr<World> unwatched_world(int rank, int size) {
    auto hub = std::make_shared<Hub>(size);
    std::string address = hubs().add(hub);
    auto world = std::make_shared<UnwatchedWorld>(std::move(hub), std::move(address), rank, size);
    world->join_alone();
    return world;
}

}  // namespace tutti
