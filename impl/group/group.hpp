// A process group: who it is, its life from the meeting of its ranks to its end, and what its ranks
// can do together: collectives, messages, splitting. Any thread may call anything.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends.hpp"
#include "breakpoint.hpp"
#include "collectives.hpp"
#include "core.hpp"
#include "group_devices.hpp"
#include "group_tree.hpp"
#include "hold.hpp"
#include "identity.hpp"
#include "making.hpp"
#include "messages.hpp"
#include "splitting.hpp"
#include "survivors.hpp"
#include "work/work.hpp"

namespace tutti {

class Group : public std::enable_shared_from_this<Group> {
public:
    // Returns when all ranks are there.
    static std::shared_ptr<Group> create(const GroupOptions& options);
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    [[nodiscard]] const GroupIdentity& identity() const { return core_.identity; }
    [[nodiscard]] int rank() const { return identity().rank; }
    [[nodiscard]] int size() const { return identity().size; }
    [[nodiscard]] const std::string& name() const { return identity().name; }
    [[nodiscard]] std::string label() const { return identity().label(); }
    // The ranks of the members in the first group, by rank.
    [[nodiscard]] const std::vector<int>& global_ranks() const { return identity().global_ranks; }
    [[nodiscard]] const char* backend_name() const { return backend_name_; }
    // One for each type of device; see Backends.
    [[nodiscard]] const Backends& backends() const { return core_.backends; }
    // Whether data to `rank` (any number), or to all others, stay on this host.
    [[nodiscard]] bool same_host(int rank) const;
    [[nodiscard]] bool same_host() const { return all_on_this_host_; }
    // Whether collectives go through memory that all ranks see.
    [[nodiscard]] bool same_memory() const { return same_memory_; }

    // Milliseconds above 0, or -1.
    void set_timeout_ms(int64_t timeout_ms) { core_.timeout_ms = timeout_ms; }
    [[nodiscard]] int64_t timeout_ms() const { return core_.timeout_ms; }
    // The group's own timeout for 0.
    [[nodiscard]] int64_t effective_timeout(int64_t timeout_ms) const {
        return core_.effective_timeout(timeout_ms);
    }

    // The whole call on this thread. With a stream it may end there, later.
    template <IsCollective Call>
    void run(Call call, Terms terms) {
        collectives_.run(collectives_.check_and_lower(call), terms);
    }
    // The call in the background; its buffers are borrowed until the work is done.
    // `deliver` runs when the data are there, before the work is done, and fails only this rank.
    template <IsCollective Call>
    std::shared_ptr<Work> start(Call call, Terms terms, std::function<void()> deliver = nullptr) {
        return collectives_.start(collectives_.check_and_lower(call), terms, std::move(deliver));
    }
    // A collective of the membership alone: all ranks arrive. TIMEOUT names the rank that has not,
    // or, of rank 0, all that have not.
    void monitored_barrier(bool wait_all_ranks, int64_t timeout_ms) {
        collectives_.monitored_barrier(wait_all_ranks, timeout_ms);
    }
    // One of its ranks stops in a debugger.
    [[nodiscard]] std::unique_ptr<Breakpoint> breakpoint(int rank) {
        return std::make_unique<Breakpoint>(core_, rank);
    }
    // For calls that are checked now, and issued later.
    [[nodiscard]] const Collectives& collectives() const { return collectives_; }

    void run(const Send& call, int64_t timeout_ms) { messages_.run(call, timeout_ms); }
    std::shared_ptr<Work> start(const Send& call, int64_t timeout_ms) {
        return messages_.start(call, timeout_ms);
    }
    // Returns the rank it received from.
    int run(const Receive& call, int64_t timeout_ms) { return messages_.run(call, timeout_ms); }
    std::shared_ptr<Work> start(const Receive& call, int64_t timeout_ms) {
        return messages_.start(call, timeout_ms);
    }
    // `deliver` runs on a thread of the library when the data are there, before the work is done.
    std::shared_ptr<Work> start(const Receive& call, int64_t timeout_ms,
                                std::function<void()> deliver) {
        return messages_.start(call, timeout_ms, std::move(deliver));
    }
    // Several messages at once: all are checked before the first starts, and all start; one that
    // cannot has a work that has failed.
    std::vector<std::shared_ptr<Work>> start(std::span<const Message> batch, int64_t timeout_ms) {
        return messages_.start(batch, timeout_ms);
    }
    // All of them, on this thread. Throws the first failure once all have ended.
    void run(std::span<const Message> batch, int64_t timeout_ms) {
        messages_.run(batch, timeout_ms);
    }

    // Memory of the backend for that device; null: it has none. This rank's alone; see Alloc.
    std::shared_ptr<void> alloc_of_backend(const Device& device, size_t bytes);
    // This rank as several, one for each of its devices.
    [[nodiscard]] GroupDevices& devices() { return devices_; }

    // Returns once all participants have arrived: the new group that this rank is in, if any. They
    // compare their arguments first; a failure leaves this group as it was. One thread at a time,
    // in the same order on all ranks.
    std::shared_ptr<Group> split(const SplitOptions& options);
    // Only compares `arguments`; shares one order with split(). Returns a name that is the same on
    // all ranks, and not given twice among the groups of a first one.
    std::string compare(const SplitOptions& options) { return splitting_.compare(options); }
    // Returns once all ranks that live and are not excluded have called it: their group. Works on a
    // group that has failed; this one makes no calls afterwards. See Survivors.
    std::shared_ptr<Group> shrink(const ShrinkOptions& options);
    // The bits that all ranks that live have set in `flags`, the same on all of them. Works on a
    // group that has failed.
    uint64_t agree(uint64_t flags, int64_t timeout_ms);
    // This rank's arguments are wrong, so it takes no part, and the others' call fails. Does not
    // wait.
    void decline(const SplitOptions& options, const Status& why) noexcept {
        splitting_.decline(options, why);
    }
    // The same for shrink() and agree(), "shrink_group" and "group_agree".
    void decline(const char* function, const Status& why) noexcept {
        survivors_.decline(function, why);
    }
    [[nodiscard]] const GroupTree& tree() const { return *tree_; }
    // The group at the root of the tree; this one if it was made from none.
    [[nodiscard]] std::shared_ptr<Group> first() { return first_ ? first_ : shared_from_this(); }

    // The group cannot go on, for a reason that its user has found: calls of all ranks end with it,
    // unless another came first.
    void abandon(const Status& cause) noexcept { core_.abandon(cause); }
    // Ends the calls of all ranks on the group, for that reason; nothing if it has failed before.
    // Throws UNSUPPORTED with ranks of another library.
    void revoke(const Status& cause);
    // The same, but ranks of another library are not told.
    void abort(const Status& cause);
    // Ends when the group fails, with the reason, or is destroyed.
    [[nodiscard]] std::shared_ptr<Work> failure_work() { return core_.failure_work(); }
    // Why the group has failed, from before its backends hear of it; OK: it has not, or had not
    // when it was destroyed.
    [[nodiscard]] Status failure() { return core_.failure(); }
    // The same once it has ended all collectives, for those before the failed one may end well.
    [[nodiscard]] Status end_of_calls() { return core_.end_of_calls(); }
    // Ranks that are known to be lost, ascending.
    [[nodiscard]] std::vector<int> failed_ranks() { return core_.failed_ranks(); }

    static constexpr int max_ranks = 1 << 16;
    static constexpr int64_t default_leave_ms = 2000;
    // Ends the group: running calls end with ABORTED, sent messages arrive, in that time. Throws
    // INVALID_HANDLE the second time.
    void destroy(int64_t leave_ms = default_leave_ms);

private:
    // `first`: of the tree that the group is added to; null: this one.
    Group(GroupParts parts, std::shared_ptr<Group> first);
    std::shared_ptr<Group> add_to_tree(std::optional<GroupParts> parts,
                                       const std::string& function);
    void end_tree() noexcept;

    const std::shared_ptr<Group> first_;  // kept alive; null: this one
    const std::shared_ptr<GroupTree> tree_;
    GroupCore core_;
    const char* const backend_name_;
    const std::vector<bool> on_this_host_;  // by rank
    const bool all_on_this_host_;
    const bool same_memory_;
    Collectives collectives_;
    GroupMessages messages_{core_};
    Splitting splitting_{core_};
    Survivors survivors_{core_};
    GroupDevices devices_{core_, splitting_};
};

}  // namespace tutti
