// A process group: checks a call, numbers it, hands it to the backend, and words what went wrong.
// Any thread may call anything; collectives take effect in arrival order.
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
#include "base/mutex.hpp"
#include "call/call.hpp"
#include "call/flat.hpp"
#include "family.hpp"
#include "gathering.hpp"
#include "membership/membership.hpp"
#include "store/store.hpp"
#include "turns.hpp"
#include "work/work.hpp"

namespace tutti {

struct GroupOptions {
    std::string backend;  // "" chooses for the CPU
    std::shared_ptr<Store> store;
    int rank = 0;
    int size = 1;
    std::string name;
    int64_t timeout_ms = 1'800'000;  // -1: never
    bool reproducible = false;       // the same on all ranks
    // Backends for other devices than the CPU, by type; the same on all ranks.
    std::vector<std::pair<tutti_device_type, std::string>> devices{};
};

// How to make groups of a group's ranks. All ranks that take part give the same but for the timeout
// and the description.
struct SplitOptions {
    std::string function;                     // for messages: "new_group"
    std::vector<std::vector<int>> parts;      // ranks of each new group, in its order; none in two
    std::optional<std::vector<int>> callers;  // who takes part, ascending; nothing: every rank
    std::string backend;                      // "": that of the group
    std::string description;                  // "": the group's name and a number
    int64_t timeout_ms = 0;                   // 0: the group's
    std::optional<bool> reproducible{};       // nothing: as the group
    std::vector<std::string> arguments;       // phrases that must be the same, beside the parts
};

class Group : public std::enable_shared_from_this<Group> {
public:
    // Returns when all ranks have come.
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
    // Whether floating-point sums are exact and rounded once.
    [[nodiscard]] bool is_reproducible() const { return reproducible_; }
    // The ranks of the members in the first group, by rank.
    [[nodiscard]] const std::vector<int>& global_ranks() const { return global_ranks_; }
    [[nodiscard]] const Family& family() const { return *family_; }
    // Whether what goes to that rank, or to every other one, stays on this host. Any `rank`.
    [[nodiscard]] bool same_host(int rank) const;
    [[nodiscard]] bool same_host() const { return all_on_this_host_; }
    // Whether collectives go through memory that all ranks see.
    [[nodiscard]] bool same_memory() const { return same_memory_; }

    // Milliseconds above 0, or -1.
    void set_timeout_ms(int64_t timeout_ms) { timeout_ms_ = timeout_ms; }
    [[nodiscard]] int64_t timeout_ms() const { return timeout_ms_; }

    // Returns once all who take part have come: the new group that this rank is in, if any. They
    // compare their arguments first; a failure leaves this group as it was. One thread at a time,
    // in the same order on all ranks.
    std::shared_ptr<Group> split(const SplitOptions& options);
    // Only compares `arguments`, in the same order with split().
    void compare(const SplitOptions& options);
    // This rank's arguments are wrong, so it takes no part: the others' call fails. Does not wait.
    void decline(const SplitOptions& options, const Status& why) noexcept;
    // The group that this one was made from, by whatever steps; itself if it was made from none.
    [[nodiscard]] std::shared_ptr<Group> first() { return first_ ? first_ : shared_from_this(); }

    // The whole call on this thread. `timeout_ms` 0: the group's; -1: never.
    void run(Collective call, int64_t timeout_ms);
    // The call in the background; its buffers are borrowed until the work is done.
    // `deliver` runs when the data are there, before the work is done, and fails only this rank.
    std::shared_ptr<Work> start(Collective call, int64_t timeout_ms,
                                std::function<void()> deliver = nullptr);

    // From here to the end, run() checks collectives and gathers them; start() refuses them.
    void begin_coalescing();
    // What was gathered, to be run or started as one.
    Coalesced end_coalescing();

    void run(const Send& call, int64_t timeout_ms);
    std::shared_ptr<Work> start(const Send& call, int64_t timeout_ms);
    // Returns the rank it received from.
    int run(const Receive& call, int64_t timeout_ms);
    std::shared_ptr<Work> start(const Receive& call, int64_t timeout_ms);
    // `deliver` runs on a thread of the library when the data are there, before the work is done.
    std::shared_ptr<Work> start(const Receive& call, int64_t timeout_ms,
                                std::function<void()> deliver);

    // Several messages at once: all are checked before the first starts, and all start; one that
    // cannot has a work that has failed.
    std::vector<std::shared_ptr<Work>> start(std::span<const Message> batch, int64_t timeout_ms);

    // Ends the group: what runs still ends with ABORTED, what was sent arrives. Throws
    // INVALID_HANDLE the second time.
    void destroy();

private:
    class Entry;
    class Posted;
    class Splitting;
    // What a group made from another one starts with.
    struct SplitResult {
        std::string name;
        int64_t timeout_ms = 0;
        bool reproducible = false;
        std::vector<int> global_ranks;
        std::unique_ptr<Membership> membership;
        std::unique_ptr<Backend> backend;
    };
    // Of what the membership tells.
    class Listener final : public MembershipListener {
    public:
        explicit Listener(Backends& backends) : backends_(backends) {}
        void failed(const Status& cause) noexcept override { backends_.abort(cause); }
        void left(int rank) noexcept override { backends_.left(rank); }

    private:
        Backends& backends_;
    };

    explicit Group(const GroupOptions& options);
    Group(SplitResult result, Group& parent);
    // A step that all ranks take by the membership.
    struct Step {
        const char* key;
        std::string words{};
        const char* suffix = "";   // of the call, for ranks that wait elsewhere
        const char* omitted = "";  // "did not call it": what missing ranks did
        bool names_all = true;     // of them
    };
    std::vector<std::string> take_step(const Fingerprint& call, uint64_t number, const Step& step,
                                       const Deadline& deadline);
    // Where ranks compare what they call: before any data move.
    void prepare(const FlatCall& call, uint64_t number, const Deadline& deadline) {
        if (compares_first_) compare_calls(call, number, deadline);
    }
    void compare_calls(const FlatCall& call, uint64_t number, const Deadline& deadline);
    // False if the call is none.
    bool pass_monitored_barrier(const FlatCall& call, uint64_t number, const Deadline& deadline);
    void make_backends(const std::string& backend, const GroupOptions& options,
                       const Deadline& deadline);
    void give_up(const Status& status) noexcept;
    void learn_hosts();
    [[nodiscard]] FlatCall check_and_lower(Collective&& call) const;
    std::string next_step(const SplitOptions& options);
    // The group's own timeout for 0.
    [[nodiscard]] int64_t patience(int64_t timeout_ms) const;
    [[nodiscard]] Deadline deadline(int64_t timeout_ms) const;
    // Of what ends on the caller's thread before the call returns.
    [[nodiscard]] Deadline deadline_here(int64_t timeout_ms) const;
    Status fail(Status status, const Fingerprint& call, uint64_t number,
                bool had_begun = true) noexcept;
    template <typename Job>
    void take_turn(const FlatCall& call, const Deadline& until, Job&& job);
    void run_posted(const Route& route, FlatCall call, const Deadline& until);
    void post(const Route& route, Request request, const std::shared_ptr<Posted>& work) noexcept;
    template <typename Call>
    void check_message(const Call& call) const;
    template <typename Call>
    [[nodiscard]] std::shared_ptr<Work> work_of(const Call& call) const;
    // A failure of `act` names the call.
    template <typename Call, typename Act>
    void in_words(const Call& call, Act&& act) const;
    template <typename Call, typename Run>
    void run_message(const Call& call, Run&& run, int64_t timeout_ms);
    template <typename Call>
    void start_message(const Call& call, const Deadline& until, const std::shared_ptr<Work>& work);
    template <typename Call>
    std::shared_ptr<Work> start_message(const Call& call, const Deadline& until);
    void check_not_destroyed() const TUTTI_REQUIRES(mutex_);
    void check_not_failed(const char* operation) const TUTTI_REQUIRES(mutex_);
    void end_family() noexcept;
    void wait_for_end() noexcept;

    const int rank_;
    const int size_;
    const std::string name_;
    std::atomic<int64_t> timeout_ms_;
    const bool reproducible_;
    const bool compares_first_;  // what ranks call, before any data move
    const char* backend_name_ = "";
    const std::vector<int> global_ranks_;
    std::vector<bool> on_this_host_;  // by rank; since the group was made
    bool all_on_this_host_ = false;   // since then, too
    bool same_memory_ = false;
    const std::shared_ptr<Group> first_;  // the first group, which lives as long; null: this is it
    const std::shared_ptr<Family> family_;

    mutable Mutex mutex_;
    Condition idle_;
    Status failure_ TUTTI_GUARDED_BY(mutex_);
    bool destroyed_ TUTTI_GUARDED_BY(mutex_) = false;
    bool ended_ TUTTI_GUARDED_BY(mutex_) = false;  // destroyed, and nothing of it is left
    // Calls that use the backend, each of them `one_inside`, and whether the group is `harmed`:
    // destroyed, or failed. Of one that is, they leave under the lock.
    static constexpr uint64_t harmed = 1;
    static constexpr uint64_t one_inside = 2;
    std::atomic<uint64_t> inside_{0};
    // Groups made from this one so far, by all ranks and, for each set of callers, by those alone.
    uint64_t steps_ TUTTI_GUARDED_BY(mutex_) = 0;
    std::map<uint64_t, uint64_t> steps_of_some_ TUTTI_GUARDED_BY(mutex_);
    std::unique_ptr<Membership> membership_;
    Backends backends_;
    Backend* backend_ = nullptr;  // the CPU's
    Listener listener_{backends_};
    std::unique_ptr<Turns> turns_;
    Gathering gathering_;
};

}  // namespace tutti
