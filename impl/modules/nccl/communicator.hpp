// A communicator of NCCL on one rank of a group, made with the first call if the group is bound to
// no device. NCCL works in the background: a call that it has taken is on its stream only when NCCL
// says so, and until then no other may follow. A communicator goes through the stages below; one
// lock guards all of it. Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "call_queue.hpp"
#include "issuing.hpp"
#include "library.hpp"
#include "long_call.hpp"
#include "memory.hpp"
#include "settings.hpp"
#include "tutti/ext.h"
#include "windows.hpp"

namespace tutti::nccl {

class Communicator : public std::enable_shared_from_this<Communicator> {
public:
    // `id` makes no difference to one that is adopted.
    Communicator(const Library& nccl, const tutti_backend_place& place, const UniqueId& id,
                 const Settings& settings);

    [[nodiscard]] int size() const { return member_.size; }
    [[nodiscard]] const Library& nccl() const { return nccl_; }
    [[nodiscard]] const Settings& settings() const { return settings_; }

    // Makes the communicator on this device, before its first call. Does not wait for other ranks.
    void start_on(int device);
    // Takes the communicator that a split of another one on the same device makes.
    void adopt(std::shared_ptr<LongCall> split, const Communicator& parent);
    // Throw Failure.
    void post(const tutti_backend_call* call);
    void check();
    // See tutti_backend_table.
    bool test();
    void together(bool begins);
    void abort(const Failure& why);

    // ending.cpp has the end.
    // Waits until the calls on the stream end, on all ranks, but for a second at most.
    void leave();
    void close();

    // All ranks make these calls together while no other is under way; splitting.cpp and
    // sharing.cpp use them. They throw Failure.
    struct Readiness {
        enum State : uint64_t { Never, Busy, Idle } state;
        uint64_t sequence;  // of the last collective
        bool operator==(const Readiness&) const = default;
    };
    // If nothing is under way, no call begins until they are released.
    [[nodiscard]] Readiness hold_calls(const tutti_backend_place& place);
    void release_calls();
    // Between these two no calls begin but those that wait: at the beginning, and each time that
    // the turn on the device is given back.
    void begin_sharing();
    void end_sharing();
    // Whether NCCL has nothing to do, and the device is this communicator's from now on.
    [[nodiscard]] bool take_turn(int device);
    void give_turn();
    // The windows, and how this memory can become one; none on another device than that of
    // the calls.
    struct Known {
        WindowList windows;
        Registration how;
    };
    [[nodiscard]] Known windows_for(const Memory& memory);
    [[nodiscard]] Registration best_registration() const { return windows_.best(); }
    // Begins a call that all ranks make. No other is under way.
    void begin_split(int color, int key, const Config& how);
    void begin_registration(Registration how, const std::shared_ptr<Window>& window,
                            WindowList unused);
    // Returns that call once NCCL is done with it, and the condition holds. Throws TIMEOUT, with
    // `late`, when the time of `place` has passed.
    std::shared_ptr<LongCall> await_call(const tutti_backend_place& place, const char* name,
                                         const char* late,
                                         const std::function<bool(LongCall&)>& condition);
    // A rank is lost. The host finds out which one, and aborts. Throws that, or `loss`.
    [[noreturn]] void await_abort(const Failure& loss);

private:
    using Lock = std::unique_lock<std::mutex>;
    using Clock = std::chrono::steady_clock;
    // This rank's part in the making of it.
    struct Member {
        int rank, size;
        UniqueId id;
    };
    enum class Stage { Unused, Starting, Ready, Leaving, Left, Ended };

    // With the lock.
    void check_not_ended() const;
    bool go_on(Batch& failed);
    bool step();
    void start();
    bool has_started();
    bool is_settled();
    void end_issue();
    bool take_device();
    void give_device();
    [[nodiscard]] bool is_drained(const tutti_backend_place& place) const;
    void end(const Failure& why, Batch& failed);
    bool await_unused_windows(Lock& lock, Clock::time_point until);
    void end_windows();
    [[nodiscard]] std::shared_ptr<LongCall> begin_finalize(Lock& lock);
    // Without it.
    void finish(const Batch& calls) const;
    void end_comm(Comm comm, const Batch& calls) noexcept;

    const Library& nccl_;
    const tutti_backend_host& host_;
    const Member member_;
    const Settings settings_;
    const bool is_bound_;

    std::mutex mutex_;
    std::condition_variable ended_;
    Stage stage_ = Stage::Unused;
    Failure why_{};                // of Ended
    std::optional<Failure> loss_;  // of a rank: nothing begins, and the host asks which it is
    // To be in the context of a device makes it, so none is named before there is a use for it.
    static constexpr int no_device = -1;
    int device_ = no_device;
    std::shared_ptr<LongCall> start_;  // makes comm_
    Comm comm_ = nullptr;
    CallQueue queue_;
    Issuing issuing_;
    Windows windows_;
    std::shared_ptr<LongCall> common_;  // of all ranks; NCCL may write it until it is done
    bool is_finalizing_ = false;        // a thread is in ncclCommFinalize, which may take long
    int enders_ = 0;                    // threads that end the communicator
};

}  // namespace tutti::nccl
