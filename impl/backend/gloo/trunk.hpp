// What all groups over Gloo that come from one group share: a line to every rank of that group, and
// the control plane that tells who died. Each group has a number of its own in every process, by
// which messages to that process find it. Any thread.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gloo/transport/tcp/context.h>

#include "base/deadline.hpp"
#include "base/mutex.hpp"
#include "control/liveness.hpp"
#include "device.hpp"
#include "line.hpp"
#include "net/descriptor.hpp"
#include "net/socket.hpp"
#include "store/store.hpp"

namespace tutti::gloo_channel {

// A group's share. Ranks are those of the trunk. Called with locks held: short, and no call back.
class TrunkUser {
public:
    // Nobody in the first group can go on, and why.
    virtual void failed(const Status& verdict) noexcept = 0;
    // That rank died, or its lines broke.
    virtual void lost(const Status& loss) noexcept = 0;
    // That rank has left all groups, and all it sent has come in.
    virtual void gone(int peer) noexcept = 0;
    virtual void heard(int peer, std::span<const std::byte> word) = 0;

protected:
    ~TrunkUser() = default;
};

class Trunk final : private LineOwner {
public:
    // Meets the other ranks at the store and connects to each.
    Trunk(const std::shared_ptr<Store>& store, int rank, int size, const Deadline& deadline);
    // What was sent arrives first, if farewell() was called.
    ~Trunk();
    Trunk(const Trunk&) = delete;
    Trunk& operator=(const Trunk&) = delete;

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    [[nodiscard]] Liveness& liveness() { return *liveness_; }
    [[nodiscard]] const std::shared_ptr<::gloo::transport::tcp::Context>& context() const {
        return context_;
    }
    Line& line(int peer);
    [[nodiscard]] bool line_is_closed(int peer) const { return of(peer).closed; }
    [[nodiscard]] bool has_left(int peer) const { return of(peer).left; }
    [[nodiscard]] bool same_host(int peer) const { return of(peer).same_host; }

    // A number for a group that is being made; messages may come for it from now on.
    uint32_t reserve(const std::string& path);
    void cancel(const std::string& path) noexcept;
    // The reserved number, which is the caller's now.
    uint32_t take(const std::string& path);
    // From now on the user hears, also what came before. `peers`: the others' ranks and their
    // numbers for the group. Number 0, of the first group, needs no reservation.
    void attach(uint32_t number, TrunkUser& user,
                const std::vector<std::pair<int, uint32_t>>& peers);
    // The user hears nothing more when this returns. `untidy`: messages were withdrawn.
    void detach(uint32_t number, const std::vector<std::pair<int, uint32_t>>& peers,
                bool untidy) noexcept;

    // The first group leaves; after a failure only once the others have been told of that.
    void farewell(bool after_failure) noexcept;

private:
    struct Peer {
        std::atomic<bool> closed{false};
        std::atomic<bool> left{false};
        bool same_host = false;  // as ours; since the trunk was made
        net::Descriptor kept;    // our end of the line, to say farewell on
    };
    struct Place {
        TrunkUser* user = nullptr;                       // none yet: reserved
        std::vector<std::pair<int, std::string>> words;  // that came before the user
    };
    class Context;

    Peer& of(int peer) { return peers_[static_cast<size_t>(peer)]; }
    [[nodiscard]] const Peer& of(int peer) const { return peers_[static_cast<size_t>(peer)]; }
    [[nodiscard]] bool is_gone(int peer) const { return of(peer).closed && of(peer).left; }
    void connect(const Deadline& deadline);
    [[noreturn]] void give_up(const Status& status);
    void say_farewell() noexcept;
    bool has_unsent() noexcept;
    template <typename Tell>
    void tell_users(Tell&& tell) noexcept;

    void failed(const Status& verdict) noexcept;
    void lost(const Status& loss) noexcept;
    void left(int peer) noexcept;
    void line_closed(int peer, const std::string& reason) noexcept override;
    void line_heard(int peer, WireSlot slot, std::span<const std::byte> word) override;
    void trunk_heard(int peer, std::span<const std::byte> word);
    void end_first_group(const Status& verdict) noexcept;
    bool awaits(WireSlot slot) noexcept override;
    bool sends_to(int peer, WireSlot slot) noexcept override;

    const int rank_;
    const int size_;
    const net::Descriptor cancel_;  // readable: nobody connects any more
    std::vector<Peer> peers_;
    std::atomic<bool> leaving_{false};
    std::atomic<int64_t> patience_ms_{0};  // for the farewell; 0: there is none

    Mutex mutex_;  // taken with a line's lock held, and before a user's own
    Condition told_;
    std::map<uint32_t, Place> places_ TUTTI_GUARDED_BY(mutex_);
    std::map<std::string, uint32_t> reserved_ TUTTI_GUARDED_BY(mutex_);
    std::set<std::pair<int, uint32_t>> targets_ TUTTI_GUARDED_BY(mutex_);  // who is sent to
    uint32_t last_number_ TUTTI_GUARDED_BY(mutex_) = 0;
    Status verdict_ TUTTI_GUARDED_BY(mutex_);
    std::map<int, Status> losses_ TUTTI_GUARDED_BY(mutex_);

    std::unique_ptr<Liveness> liveness_;
    std::shared_ptr<Device> device_;
    std::shared_ptr<::gloo::transport::tcp::Context> context_;
};

}  // namespace tutti::gloo_channel
