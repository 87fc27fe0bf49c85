// One rank's place among all ranks of a first group: what brings its words to the arbiter and the
// arbiter's to the groups that were made from the first one. Two kinds: processes (processes.hpp)
// and threads of one process (threads.hpp). Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <typeindex>
#include <vector>

#include "base/mutex.hpp"
#include "base/status.hpp"
#include "protocol.hpp"

namespace tutti {

class Membership;

// Where the other ranks can be reached from here, for who connects to them.
struct Routes {
    std::vector<std::string> listening_at;            // own numeric addresses; empty: every one
    std::vector<std::vector<std::string>> by_rank{};  // of each rank, in the order to try
};

class World {
public:
    virtual ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    // The same on all ranks, and no other world's.
    [[nodiscard]] virtual std::string identity() const = 0;
    [[nodiscard]] virtual bool same_host(int rank) const = 0;
    // Whether all ranks are threads of this process.
    [[nodiscard]] virtual bool is_one_process() const { return false; }
    [[nodiscard]] virtual Routes routes() const = 0;
    // That rank died; nothing else of it will be told.
    [[nodiscard]] Status loss_of(int rank) const;
    [[nodiscard]] std::map<int, Status> losses() const;
    // Whether it has left the first group, and with it all.
    [[nodiscard]] bool has_departed(int rank) const;

    // What its groups share, of that type: made by the first of them, ended with the world.
    template <typename Resource>
    std::shared_ptr<Resource> resource() {
        const Lock lock(resources_mutex_);
        auto& there = resources_[std::type_index(typeid(Resource))];
        if (!there) there = std::make_shared<Resource>(*this);
        return std::static_pointer_cast<Resource>(there);
    }

    // That rank is asked to connect to this one; it may not hear of it.
    void ask_to_connect(int rank) noexcept {
        tell(membership::encode(membership::Kind::Connect, rank));
    }
    // Hears which rank asks this one to connect; nothing, when the second returns.
    void on_asked_to_connect(std::function<void(int rank)> connect);

    // To the arbiter, in order; if none decides any more, this rank hears what it says itself.
    virtual void tell(std::string frame) noexcept = 0;
    virtual void suspect(const Status& suspicion) noexcept = 0;
    virtual void leave() noexcept = 0;
    // Ends without a goodbye, as if the process had died. For tests.
    virtual void abandon() noexcept {}

protected:
    World(int rank, int size);

    // First thing in the destructor of each kind.
    void end_resources() noexcept;
    // What the arbiter says, in order. Throws NETWORK if it is malformed.
    void hear(const membership::Frame& frame);
    // The same, said by this rank itself.
    void hear_verdict(uint32_t group, const Status& verdict);
    void hear_loss(const Status& loss);
    void hear_departures(uint32_t group, const std::vector<int>& ranks);
    void hear_failure(uint32_t group, const std::string& step, const Status& cause);

private:
    friend class Membership;
    void add(uint32_t number, Membership* group);
    void remove(uint32_t number, const Membership* group) noexcept;
    template <typename Tell>
    void tell_group(uint32_t number, Tell&& tell);

    const int rank_;
    const int size_;
    Mutex resources_mutex_;
    std::map<std::type_index, std::shared_ptr<void>> resources_ TUTTI_GUARDED_BY(resources_mutex_);
    Mutex telling_;        // held while groups are told; before their locks
    mutable Mutex mutex_;  // after all others: whoever holds what lock may ask
    std::map<uint32_t, Membership*> groups_ TUTTI_GUARDED_BY(telling_);
    std::function<void(int)> asked_to_connect_ TUTTI_GUARDED_BY(telling_);
    std::map<int, Status> losses_ TUTTI_GUARDED_BY(mutex_);
    std::vector<bool> departed_ TUTTI_GUARDED_BY(mutex_);  // from the first group, by rank
    Status verdict_ TUTTI_GUARDED_BY(mutex_);              // on the first group
};

}  // namespace tutti
