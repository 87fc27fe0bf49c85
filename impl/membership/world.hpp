// One rank's place among all ranks of a first group: carries frames to the arbiter, and the
// arbiter's to the groups made from the first one. Two kinds: processes (processes.hpp) and threads
// of one process (threads.hpp). Any thread.
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

// Where this rank listens and the others are reached, for data connections.
struct Routes {
    std::vector<std::string> listening_at;            // numeric; empty: every address
    std::vector<std::vector<std::string>> by_rank{};  // in the order to try
    int first_port = 0, last_port = 0;                // of what listens; 0: any
};

class World {
public:
    virtual ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    // The same on all ranks, and unique.
    [[nodiscard]] virtual std::string identity() const = 0;
    [[nodiscard]] virtual bool same_host(int rank) const = 0;
    // Whether all ranks are threads of this process.
    [[nodiscard]] virtual bool is_one_process() const { return false; }
    [[nodiscard]] virtual Routes routes() const = 0;
    // Why that rank is lost; OK: it is not.
    [[nodiscard]] Status loss_of(int rank) const;
    [[nodiscard]] std::map<int, Status> losses() const;
    // Whether it has left the first group, and with it all.
    [[nodiscard]] bool has_departed(int rank) const;
    // Either.
    [[nodiscard]] bool is_gone(int rank) const;

    // The resource of that type that its groups share: made by the first of them, ended with the
    // world.
    template <typename Resource>
    std::shared_ptr<Resource> resource() {
        const Lock lock(resources_mutex_);
        auto& there = resources_[std::type_index(typeid(Resource))];
        if (!there) there = std::make_shared<Resource>(*this);
        return std::static_pointer_cast<Resource>(there);
    }

    // Asks that rank to connect to this one; the request may get lost.
    void ask_to_connect(int rank) noexcept {
        send(membership::encode(membership::Kind::Connect, rank));
    }
    // Called with each rank that asks this one to connect; with nullptr, never again.
    void on_asked_to_connect(std::function<void(int rank)> connect);
    // Called with each rank that goes, when is_gone() says so and before the groups hear of it;
    // with nullptr, never again.
    void on_gone(std::function<void(int rank)> act);

    // To the arbiter, in order; without one, this rank handles the frame itself.
    virtual void send(std::string frame) noexcept = 0;
    virtual void suspect(const Status& suspicion) noexcept = 0;
    virtual void leave() noexcept = 0;
    // A debugger may hold this process, until the same is said with false: the others do not take
    // its silence for its end. They know by the end of any step that this rank takes afterwards.
    virtual void expect_debugger(bool /*expects*/) noexcept {}
    // How long others may take to receive what this rank sent before it leaves.
    void set_leave_ms(int64_t leave_ms) { leave_ms_ = leave_ms; }
    [[nodiscard]] int64_t leave_ms() const { return leave_ms_; }
    // Ends like a process that dies. For tests.
    virtual void abandon() noexcept {}

protected:
    World(int rank, int size);

    // First thing in the destructor of each kind.
    void end_resources() noexcept;
    // A frame from the arbiter, in order. Throws NETWORK if it is malformed.
    void handle(const membership::Frame& frame);
    // This rank has left: no group hears of anything any more, and it notes only who is gone, since
    // it may still have to find the next coordinator, or to be it.
    void mute() { is_muted_ = true; }
    [[nodiscard]] bool is_muted() const { return is_muted_; }
    // The same events, from this rank itself.
    void on_verdict(uint32_t group, const membership::Failure& verdict);
    void on_loss(const Status& loss);
    void on_departures(uint32_t group, const std::vector<int>& ranks);
    void on_step_completed(membership::StepCompleted completed);
    void on_step_failure(uint32_t group, const std::string& step, const Status& cause);
    void on_decision(const membership::Decision& decision);

private:
    friend class Membership;
    [[nodiscard]] bool are_ranks(const std::vector<int>& ranks) const;
    bool note_loss(const Status& loss);  // false: that was known
    void add(uint32_t group_id, Membership* group);
    void remove(uint32_t group_id, const Membership* group) noexcept;
    // This rank leaves the first group: others that are still being made end, too.
    void end_the_rest() noexcept;
    template <typename Deliver>
    void deliver_to(uint32_t group_id, Deliver&& deliver);

    const int rank_;
    const int size_;
    std::atomic<int64_t> leave_ms_{2000};
    std::atomic<bool> is_muted_{false};
    Mutex resources_mutex_;
    std::map<std::type_index, std::shared_ptr<void>> resources_ TUTTI_GUARDED_BY(resources_mutex_);
    Mutex delivery_;       // held while groups are notified; before their locks
    mutable Mutex mutex_;  // after all other locks
    std::map<uint32_t, Membership*> groups_ TUTTI_GUARDED_BY(delivery_);
    std::function<void(int)> asked_to_connect_ TUTTI_GUARDED_BY(delivery_);
    std::function<void(int)> gone_ TUTTI_GUARDED_BY(delivery_);
    bool has_ended_ TUTTI_GUARDED_BY(delivery_) = false;
    std::map<int, Status> losses_ TUTTI_GUARDED_BY(mutex_);
    std::vector<bool> departed_ TUTTI_GUARDED_BY(mutex_);   // from the first group, by rank
    membership::Failure verdict_ TUTTI_GUARDED_BY(mutex_);  // on the first group
};

}  // namespace tutti
