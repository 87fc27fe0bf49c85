#include "loopback.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "hub.hpp"
#include "membership/world.hpp"

namespace tutti::loopback {

namespace {

class LoopbackChannel final : public Channel {
public:
    LoopbackChannel(const char* name, Membership& membership, std::shared_ptr<Hub> hub)
        : Channel(membership), name_(name), hub_(std::move(hub)) {}
    ~LoopbackChannel() override {
        hub_->abort(rank(), {TUTTI_ERR_ABORTED, -1, 0, "the group was destroyed"});
    }

    [[nodiscard]] const char* name() const override { return name_; }

    void post_send(Transfer& transfer, int peer, Slot slot, const void* data,
                   size_t bytes) override {
        post(transfer, peer, true, slot, const_cast<void*>(data), bytes);
    }
    void post_receive(Transfer& transfer, int peer, Slot slot, void* data, size_t bytes) override {
        post(transfer, peer, false, slot, data, bytes);
    }
    void post_receive_any(Transfer& transfer, Slot slot, void* data, size_t bytes) override {
        post(transfer, -1, false, slot, data, bytes);
    }
    void abort(const Status& status) noexcept override { hub_->abort(rank(), status); }
    void abort_messages(const Status& status) noexcept override {
        hub_->abort_messages(rank(), status);
    }
    void left(int peer) noexcept override { hub_->peer_left(rank(), peer); }
    void leave() noexcept override {}

private:
    void post(Transfer& transfer, int peer, bool is_send, Slot slot, void* data, size_t bytes) {
        hub_->post(std::make_unique<Hub::Post>(transfer, rank(), peer, is_send, slot, data, bytes));
    }

    const char* const name_;
    const std::shared_ptr<Hub> hub_;
};

// The hubs of groups that not all members have entered yet.
class Hubs {
public:
    std::shared_ptr<Hub> enter(const std::string& group, int size) {
        const Lock lock(mutex_);
        std::erase_if(hubs_, [](const auto& entry) { return entry.second.expired(); });
        auto& there = hubs_[group];
        auto hub = there.lock();
        if (!hub) there = hub = std::make_shared<Hub>(size);
        return hub;
    }

private:
    Mutex mutex_;
    std::map<std::string, std::weak_ptr<Hub>> hubs_ TUTTI_GUARDED_BY(mutex_);  // by identity
};

Hubs& hubs() {
    static Hubs& all = *new Hubs;  // outlives every group that a program forgets to end
    return all;
}

void check_one_process(Membership& membership, const Deadline& deadline) {
    if (membership.world().is_one_process()) return;
    const auto processes = membership.all_gather("transport/loopback", cat(getpid()), deadline);
    const auto stranger = std::ranges::find_if(
        processes, [&](const std::string& one) { return one != processes.front(); });
    if (stranger == processes.end()) return;
    const auto rank = static_cast<int>(stranger - processes.begin());
    throw Error(TUTTI_ERR_UNSUPPORTED,
                cat("backend loopback joins threads of one process, and rank ", rank,
                    " is another one than rank 0"));
}

}  // namespace

std::unique_ptr<Channel> open(Membership& membership, const Deadline& deadline, const char* name) {
    check_one_process(membership, deadline);
    return std::make_unique<LoopbackChannel>(
        name, membership, hubs().enter(membership.identity(), membership.size()));
}

}  // namespace tutti::loopback
