// A process group: checks a call, numbers it, hands it to the backend, and words what went wrong.
// Any thread may call anything; collectives take effect in arrival order.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "backend/call/call.hpp"
#include "base/mutex.hpp"
#include "gathering.hpp"
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
};

class Group {
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

    // The whole call on this thread. `timeout_ms` 0: the group's; -1: never.
    void run(const Collective& call, int64_t timeout_ms);
    // The call in the background; its buffers are borrowed until the work is done.
    // `deliver` runs when the data are there, before the work is done, and fails only this rank.
    std::shared_ptr<Work> start(const Collective& call, int64_t timeout_ms,
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

    // Several messages at once: all are checked before the first starts, and all start; one that
    // cannot has a work that has failed.
    std::vector<std::shared_ptr<Work>> start(std::span<const Message> batch, int64_t timeout_ms);

    // Ends the group: what runs still ends with ABORTED, what was sent arrives. Throws
    // INVALID_HANDLE the second time.
    void destroy();

private:
    class Entry;

    explicit Group(const GroupOptions& options);
    [[nodiscard]] Deadline deadline(int64_t timeout_ms) const;
    Status fail(Status status, const Collective& call, uint64_t number) noexcept;
    template <typename Call>
    std::shared_ptr<Work> start_message(const Call& call, const Deadline& until);
    void check_open() const TUTTI_REQUIRES(mutex_);

    const int rank_;
    const int size_;
    const std::string name_;
    const int64_t timeout_ms_;
    const char* backend_name_ = "";

    mutable Mutex mutex_;
    Condition idle_;
    Status failure_ TUTTI_GUARDED_BY(mutex_);
    bool destroyed_ TUTTI_GUARDED_BY(mutex_) = false;
    int inside_ TUTTI_GUARDED_BY(mutex_) = 0;  // calls that use the backend
    std::unique_ptr<Backend> backend_;
    std::unique_ptr<Turns> turns_;
    Gathering gathering_;
};

}  // namespace tutti
