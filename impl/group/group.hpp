// A process group: checks a call, numbers it, hands it to the backend, and words a failure. Any
// thread may call anything; collectives take effect in arrival order.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends.hpp"
#include "base/function_call.hpp"
#include "base/mutex.hpp"
#include "call/call.hpp"
#include "call/flat.hpp"
#include "call/lower.hpp"
#include "group_tree.hpp"
#include "membership/membership.hpp"
#include "memory/held_memory.hpp"
#include "profile/range.hpp"
#include "progress/gate.hpp"
#include "store/store.hpp"
#include "ticket_queue.hpp"
#include "work/work.hpp"

namespace tutti {

class Coalescing;
class DeviceRanks;

struct GroupOptions {
    std::string backend;  // one name, or one for each type of device: "cpu:gloo,cuda:nccl"
    std::optional<BackendMap> map{};  // in the place of `backend`
    std::shared_ptr<Store> store;
    int rank = 0;
    int size = 1;
    std::string name;
    int64_t timeout_ms = 1'800'000;  // -1: never
    bool reproducible = false;       // the same on all ranks
    Device bound{};                  // the one device of this rank's calls; the CPU: none
};

// How a collective is issued, beside what it is.
struct Terms {
    Terms(int64_t timeout, void* on_stream = nullptr) : timeout_ms(timeout), stream(on_stream) {}
    int64_t timeout_ms;  // 0: the group's; -1: never
    void* stream;        // of the buffers' device; null: the default one, and the call waits for it
    bool may_post_here = true;  // on the caller's thread; else always on one of the group
};

// How to make groups of a group's ranks. All participating ranks give the same, but for timeout,
// description and device.
struct SplitOptions {
    std::string function;                     // for messages: "new_group"
    std::vector<std::vector<int>> parts;      // ranks of each new group, in its order; none in two
    std::optional<std::vector<int>> callers;  // participants, ascending; nothing: all ranks
    std::string backend;                      // "": that of the group
    std::string description;                  // "": the group's name and a number
    int64_t timeout_ms = 0;                   // 0: the group's
    std::optional<bool> reproducible{};       // nothing: as the group
    Device bound{};                           // the CPU: as the group
    std::vector<std::string> arguments;       // phrases that must be the same, beside the parts
};

class Group : public std::enable_shared_from_this<Group> {
public:
    // Returns when all ranks are there.
    static std::shared_ptr<Group> create(const GroupOptions& options);
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    [[nodiscard]] const std::string& name() const { return name_; }
    // "group \"world\" (rank 0 of 4)".
    [[nodiscard]] std::string label() const;
    [[nodiscard]] const char* backend_name() const { return backend_name_; }
    // One for each type of device; see Backends.
    [[nodiscard]] const Backends& backends() const { return backends_; }
    // Whether floating-point sums are exact and rounded once.
    [[nodiscard]] bool is_reproducible() const { return reproducible_; }
    // The one device that this rank's calls may use; the CPU: any.
    [[nodiscard]] const Device& bound_device() const { return bound_; }
    // The device of a group that is made from this one with such options. Throws INVALID_ARGUMENT.
    [[nodiscard]] Device bound_device_for(const Device& wanted) const;
    // Throws INVALID_ARGUMENT for another device; `what`: "the buffers are on".
    void check_bound(const Device& device, const char* what) const {
        if (device != bound_) check_bound_to_one(device, what);
    }
    // The ranks of the members in the first group, by rank.
    [[nodiscard]] const std::vector<int>& global_ranks() const { return global_ranks_; }
    [[nodiscard]] const GroupTree& tree() const { return *tree_; }
    // Whether data to `rank` (any number), or to all others, stay on this host.
    [[nodiscard]] bool same_host(int rank) const;
    [[nodiscard]] bool same_host() const { return all_on_this_host_; }
    // Whether collectives go through memory that all ranks see.
    [[nodiscard]] bool same_memory() const { return same_memory_; }

    // Milliseconds above 0, or -1.
    void set_timeout_ms(int64_t timeout_ms) { timeout_ms_ = timeout_ms; }
    [[nodiscard]] int64_t timeout_ms() const { return timeout_ms_; }
    // The group's own timeout for 0.
    [[nodiscard]] int64_t effective_timeout(int64_t timeout_ms) const;

    // Returns once all participants have arrived: the new group that this rank is in, if any. They
    // compare their arguments first; a failure leaves this group as it was. One thread at a time,
    // in the same order on all ranks.
    std::shared_ptr<Group> split(const SplitOptions& options);
    // Only compares `arguments`; shares one order with split(). Returns a name that is the same on
    // all ranks, and not given twice among the groups of a first one.
    std::string compare(const SplitOptions& options);
    // This rank's arguments are wrong, so it takes no part, and the others' call fails. Does not
    // wait.
    void decline(const SplitOptions& options, const Status& why) noexcept;
    // As decline(), for a failure that is not of the arguments.
    void give_up(const SplitOptions& options, const Status& why) noexcept;
    // The group at the root of the tree; this one if it was made from none.
    [[nodiscard]] std::shared_ptr<Group> first() { return first_ ? first_ : shared_from_this(); }

    // The whole call on this thread. With a stream it may end there, later.
    template <IsCollective Call>
    void run(Call call, Terms terms) {
        run_flat(check_and_lower(call), terms);
    }
    // The call in the background; its buffers are borrowed until the work is done.
    // `deliver` runs when the data are there, before the work is done, and fails only this rank.
    template <IsCollective Call>
    std::shared_ptr<Work> start(Call call, Terms terms, std::function<void()> deliver = nullptr) {
        return start_flat(check_and_lower(call), terms, std::move(deliver));
    }

    // A collective of the membership alone: all ranks arrive. TIMEOUT names the rank that has not,
    // or, of rank 0, all that have not.
    void monitored_barrier(bool wait_all_ranks, int64_t timeout_ms);

    // The stream waits for a work that others poll for; this thread until it is enqueued. Throws if
    // it has failed. Null: the work is on the caller's stream.
    static void hold(const Work& work, void* stream);

    void run(const Send& call, int64_t timeout_ms);
    std::shared_ptr<Work> start(const Send& call, int64_t timeout_ms);
    // Returns the rank it received from.
    int run(const Receive& call, int64_t timeout_ms);
    std::shared_ptr<Work> start(const Receive& call, int64_t timeout_ms);
    // `deliver` runs on a thread of the library when the data are there, before the work is done.
    std::shared_ptr<Work> start(const Receive& call, int64_t timeout_ms,
                                std::function<void()> deliver);

    // Memory of the backend for that device; null: it has none. This rank's alone; see Alloc.
    std::shared_ptr<void> alloc_of_backend(const Device& device, size_t bytes);

    // Throws INVALID_ARGUMENT, naming `buffers`, for devices that its device_ranks() cannot be.
    void check_device_ranks(const char* buffers, const std::vector<Device>& devices);
    // This rank's devices as ranks, for checked calls on a buffer of each. The first call waits
    // until all ranks have made it, up to the timeout; all have as many devices, and the same in
    // each call. Throws as split(), and as check_device_ranks().
    std::shared_ptr<DeviceRanks> device_ranks(const char* function, const char* buffers,
                                              const std::vector<Device>& devices,
                                              int64_t timeout_ms);
    // A call with wrong arguments: if it is the first, it fails on the other ranks as well. Does
    // not wait.
    void decline_device_ranks(const char* function, const Status& why) noexcept;

    // Throws INVALID_ARGUMENT in a function of the program that a call of this group has called.
    void check_may_wait(const char* operation) const {
        if (const char* const function = FunctionCall::of(this)) refuse_wait(operation, function);
    }

    // The same where destroy() would.
    void check_may_be_destroyed() const {
        if (const char* const function = FunctionCall::under(this)) {
            refuse_wait("destroy", function);
        }
    }

    // Several messages at once: all are checked before the first starts, and all start; one that
    // cannot has a work that has failed.
    std::vector<std::shared_ptr<Work>> start(std::span<const Message> batch, int64_t timeout_ms);
    // All of them, on this thread. Throws the first failure once all have ended.
    void run(std::span<const Message> batch, int64_t timeout_ms);

    // The group cannot go on, for a reason that its user has found: calls of all ranks end with it,
    // unless another came first.
    void abandon(const Status& cause) noexcept;

    // Why the group has failed, from before its backends hear of it; OK: it has not, or had not
    // when it was destroyed.
    [[nodiscard]] Status failure();
    // The same once it has ended all collectives, for those before the failed one may end well.
    [[nodiscard]] Status end_of_calls();
    // Ranks that are known to be lost, ascending.
    [[nodiscard]] std::vector<int> failed_ranks();

    static constexpr int max_ranks = 1 << 16;
    static constexpr int64_t default_leave_ms = 2000;
    // Ends the group: running calls end with ABORTED, sent messages arrive, in that time. Throws
    // INVALID_HANDLE the second time.
    void destroy(int64_t leave_ms = default_leave_ms);

private:
    friend class Coalescing;
    class InFlight;
    class Door;
    class Posted;
    class MessageWork;
    class ReceiveWork;
    class Splitting;
    // The start of a group made from another one.
    struct SplitResult {
        std::string name;
        int64_t timeout_ms = 0;
        bool reproducible = false;
        Device bound;
        std::vector<int> global_ranks;
        std::unique_ptr<Membership> membership;
        BackendMap backend_map;
        Backends backends;
        std::shared_ptr<Store> store{};  // null: the parent's
    };
    // Passes events of the membership on.
    class Listener final : public MembershipListener {
    public:
        explicit Listener(Backends& backends) : backends_(backends) {}
        void failed(const Status& cause) noexcept override { backends_.abort(cause); }
        void failing(const Status& cause) noexcept override { backends_.abort_messages(cause); }
        void left(int rank) noexcept override { backends_.left(rank); }

    private:
        Backends& backends_;
    };

    explicit Group(const GroupOptions& options);
    Group(SplitResult result, Group& parent);
    // A step of the membership that all ranks take.
    struct Step {
        const char* key;
        std::string payload{};
        const char* omitted = "";     // "did not call it": of missing ranks
        bool names_all = true;        // of the missing ranks
        bool rank_0_decides = false;  // when the time is up; else any rank does
    };
    std::vector<std::string> take_step(const Fingerprint& call, uint64_t sequence, const Step& step,
                                       const Deadline& deadline);
    // With DETAIL, ranks compare their calls before any data move.
    void prepare(const Fingerprint& call, uint64_t sequence, const Deadline& deadline) {
        if (compares_first_) compare_calls(call, sequence, deadline);
    }
    void compare_calls(const Fingerprint& call, uint64_t sequence, const Deadline& deadline);
    void share_memory(const Alloc& call, uint64_t sequence, const Deadline& until);
    void adopt_backends();
    void check_foreign_peers(const GroupOptions& options) const;
    std::shared_ptr<Group> split_among_foreign_peers(const SplitOptions& options);
    void give_up(Store& store, const Status& status) noexcept;
    void learn_hosts();
    std::vector<std::shared_ptr<Group>> open_device_ranks(const char* function,
                                                          const std::vector<Device>& devices,
                                                          int64_t timeout_ms);
    // Null: there are none, and this thread shall open them, and end that with
    // adopt_device_ranks().
    std::shared_ptr<DeviceRanks> await_device_ranks(const char* function, int64_t timeout_ms);
    // Null: they could not be opened. False: this group has been destroyed.
    bool adopt_device_ranks(const std::shared_ptr<DeviceRanks>& opened);
    // Takes the call apart.
    template <typename Call>
    [[nodiscard]] FlatCall check_and_lower(Call& call) const {
        check(call, rank_, size_);
        FlatCall flat = lower(std::move(call), rank_, size_);
        admit(flat);
        return flat;
    }
    // Checks the call against the group's own terms and its backend's.
    void admit(FlatCall& call) const {
        if (reproducible_) {
            call.op.make_reproducible();  // the calls of a Coalesced are made so one by one
        } else if (call.kind == FlatCall::Kind::AllReduceAddends) {
            refuse_addends();
        }
        check_bound(call.device, "the buffers are on");
        backends_.check(call);
    }
    [[noreturn]] void refuse_addends() const;
    void check_bound_to_one(const Device& device, const char* what) const;
    void run_flat(FlatCall call, const Terms& terms);
    std::shared_ptr<Work> start_flat(FlatCall call, const Terms& terms,
                                     std::function<void()> deliver);
    static void keep_until_done(Work& work, MemoryUse use) {
        if (!use.empty()) work.keep(std::make_shared<const MemoryUse>(std::move(use)));
    }
    // In a profiler: "all_reduce 100 float32 on world".
    template <typename Call>
    [[nodiscard]] profile::Range range_of(const Call& call) const {
        return profile::Range([&] { return cat(summary(call), " on ", name_); });
    }
    [[nodiscard]] profile::Range range_of(std::span<const Message> batch) const {
        return profile::Range(
            [&] { return cat("batch_isend_irecv ", batch.size(), " messages on ", name_); });
    }
    void check_coalescing();
    bool cancel(const Work& receive) noexcept;
    void message_failed() noexcept;
    std::string next_step(const SplitOptions& options);
    [[nodiscard]] Deadline deadline(int64_t timeout_ms) const;
    // A call in the background: both by one look at the clock.
    struct Span {
        Work::Clock::time_point start;
        Deadline deadline;
    };
    [[nodiscard]] Span span_of(int64_t timeout_ms) const;
    // For a call that ends on the caller's thread before it returns.
    [[nodiscard]] Deadline deadline_here(int64_t timeout_ms) const;
    template <typename Ask>
    Status failure_by(Ask&& ask);
    Status fail(Status status, const Fingerprint& call, uint64_t sequence,
                bool had_begun = true) noexcept;
    [[nodiscard]] Status cause_for_others(const Status& status, const std::string& operation) const;
    template <typename Job>
    void take_turn(const Fingerprint& call, const Deadline& until, Job&& job);
    template <typename Job>
    void run_in_turn(const Fingerprint& call, const Deadline& until, Job&& job);
    void run_posted(const Route& route, FlatCall call, const Span& span, MemoryUse use);
    void post(const Route& route, FlatCall& call, uint64_t sequence, const Deadline& until,
              Posted& work) noexcept;
    template <typename Call>
    void check_message(const Call& call) const;
    template <typename Call>
    [[nodiscard]] std::shared_ptr<MessageWork> work_of(const Call& call, Backend& mover,
                                                       Work::Clock::time_point now);
    // A failure of `act` names the call.
    template <typename Call, typename Act>
    void with_context(const Call& call, Act&& act) const;
    template <typename Call>
    int await_message(const Call& call, int64_t timeout_ms);
    template <typename Call, typename Run>
    void run_message(const Call& call, Run&& run, int64_t timeout_ms);
    template <typename Call>
    void start_message(const Call& call, Backend& mover, const Deadline& until,
                       const std::shared_ptr<Work>& work);
    template <typename Call>
    std::shared_ptr<Work> start_message(const Call& call, const Span& span);
    std::shared_ptr<Work> start_landing(const Receive& call, const Span& span);
    template <typename Call>
    [[nodiscard]] Call entered(const Call& call) const;
    template <typename Call>
    [[nodiscard]] Backend& mover_of(const Call& call) const;
    [[nodiscard]] Backend* mover_of_all(std::span<const Message> batch) const;
    void check_batch(std::span<const Message> batch) const;
    bool run_here(std::span<const Message> batch, int64_t timeout_ms);
    std::vector<std::shared_ptr<Work>> start_here(std::span<const Message> batch, Backend& mover,
                                                  const Span& span);
    void check_not_destroyed() const TUTTI_REQUIRES(mutex_);
    void check_not_failed(const char* operation) const TUTTI_REQUIRES(mutex_);
    void check_turn() const;
    [[noreturn]] void refuse_wait(const char* operation, const char* function) const;
    [[nodiscard]] Operator as_operator() const {
        return {this, first_ ? static_cast<const void*>(first_.get()) : this};
    }
    void end_tree() noexcept;
    void wait_for_end() noexcept;

    const int rank_;
    const int size_;
    const std::string name_;
    std::atomic<int64_t> timeout_ms_;
    const bool reproducible_;
    const Device bound_;
    BackendMap backend_map_;
    const bool has_foreign_peers_;  // ranks may be of another library
    const bool compares_first_;     // DETAIL
    const char* backend_name_ = "";
    const std::vector<int> global_ranks_;
    std::vector<bool> on_this_host_;  // by rank; never changes
    bool all_on_this_host_ = false;   // never changes
    bool same_memory_ = false;
    bool has_spare_processor_ = false;    // for a thread beside the ranks
    const std::shared_ptr<Group> first_;  // root of the tree, kept alive; null: this one
    const std::shared_ptr<GroupTree> tree_;
    std::shared_ptr<Store> store_;  // where the ranks of the first group met, or, with foreign
                                    // peers, those of this one

    mutable Mutex mutex_;
    Condition has_ended_;
    Status failure_ TUTTI_GUARDED_BY(mutex_);
    Status failure_for_others_ TUTTI_GUARDED_BY(mutex_);  // for calls that did not fail themselves
    bool destroyed_ TUTTI_GUARDED_BY(mutex_) = false;
    bool ended_ TUTTI_GUARDED_BY(mutex_) = false;  // destroyed, and all of it is done
    Gate gate_;  // of calls that use the backend; shut: the group is destroyed or has failed
    // Groups made from this one so far, by all ranks and, for each set of callers, by those alone.
    uint64_t steps_ TUTTI_GUARDED_BY(mutex_) = 0;
    std::map<uint64_t, uint64_t> steps_of_some_ TUTTI_GUARDED_BY(mutex_);
    std::unique_ptr<Membership> membership_;
    Backends backends_;
    Backend* backend_ = nullptr;  // the CPU's
    std::shared_ptr<DeviceRanks> device_ranks_ TUTTI_GUARDED_BY(mutex_);
    bool opens_device_ranks_ TUTTI_GUARDED_BY(mutex_) = false;
    Condition device_ranks_opened_;  // or not, or this group was destroyed
    Listener listener_{backends_};
    std::shared_ptr<TicketQueue> ticket_queue_;
    const std::shared_ptr<Door> door_;
};

}  // namespace tutti
