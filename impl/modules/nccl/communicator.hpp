// A communicator of NCCL on one rank of a group, made with the first call if the group is bound to
// no device, and the calls on their way to streams. NCCL works in the background: a call that it
// has taken is on its stream only when NCCL says so, and until then no other may follow. Any
// thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collectives.hpp"
#include "library.hpp"
#include "memory.hpp"
#include "settings.hpp"
#include "tutti/ext.h"

namespace tutti::nccl {

tutti_error error_of(const Failure& failure);

class Communicator : public std::enable_shared_from_this<Communicator> {
public:
    Communicator(const Library& nccl, const tutti_backend_place& place, const UniqueId& id,
                 const Settings& settings);

    // Makes the communicator on this device, before its first call. Does not wait for other ranks.
    void start_on(int device);
    // Throw Failure.
    void post(const tutti_backend_call* call);
    void check();
    // See tutti_backend_table.
    bool test();
    void together(bool begins);
    void abort(tutti_status status, const std::string& why);
    void leave();
    void close();
    // Throws Failure. False: not now. Null: this rank is in no new group.
    bool split(const tutti_backend_place& place, int color, std::shared_ptr<Communicator>& made);
    // Memory for share(). Throws Failure, also where it would be of no use.
    [[nodiscard]] void* make_memory(int device, size_t bytes) const;
    // Registers memory of all ranks, of one size, if that is possible on all of them; deregisters
    // what all of them have given back. Throws Failure.
    void share(const tutti_backend_place& place, std::shared_ptr<Memory> memory);

private:
    using Lock = std::unique_lock<std::mutex>;
    enum class Stage { Unused, Starting, Ready, Leaving, Left, Ended };
    // Calls that stand in one group of NCCL's.
    using Batch = std::vector<const tutti_backend_call*>;
    // A communicator that is being made; by a thread of its own if NCCL blocks.
    struct Start {
        Comm comm = nullptr;  // of a split, NCCL may write it after it has returned
        Result result = Result::InProgress;
        enum State { Running, Returned, GivenUp };
        std::atomic<State> state{Running};
        [[nodiscard]] bool has_returned() const { return state == Returned; }
        // False: it runs, and the thread that makes it aborts it.
        bool give_up() { return state.exchange(GivenUp) == Returned; }
    };
    // Memory of the device, for what outputs take the place of.
    struct Scratch {
        cuda::DevicePointer memory;
        size_t bytes;
    };

    // With the lock.
    void check_not_ended() const;
    bool go_on(Batch& failed);
    bool step();
    void start();
    using Make = std::function<Result(Comm* comm, Config* config)>;
    [[nodiscard]] std::shared_ptr<Start> begin(Make make, const Config& how) const;
    bool has_started();
    bool is_settled();
    void issue(const Batch& batch);
    [[nodiscard]] Stream stream_of(const tutti_backend_call* call) const;
    void prepare(const tutti_backend_call* call, Stream stream, size_t& used,
                 std::vector<Part>& parts);
    void copy_inputs(Part& part, Stream stream, size_t& used);
    cuda::DevicePointer scratch(size_t offset, size_t bytes);
    void end_issue();
    void end(const Failure& why, Batch& failed);
    bool take_device();
    void give_device();
    [[nodiscard]] bool is_drained(const tutti_backend_place& place) const;
    enum class Registration : char { None, Local, Window };
    [[nodiscard]] Registration registration() const;
    [[nodiscard]] Registration registration_of(const Memory& memory) const;
    using Windows = std::vector<std::shared_ptr<Window>>;
    void deregister(Comm comm, const Windows& windows) const noexcept;
    bool await_unused(Lock& lock, std::chrono::steady_clock::time_point until);
    [[nodiscard]] bool is_window_in_use() const;
    void note_use(Stream stream);
    static void free_later(Windows windows) noexcept;
    // Without it.
    class Turn;
    struct Agreement;
    [[nodiscard]] Agreement agree(const tutti_backend_place& place, const Memory& memory);
    void take_turn(const tutti_backend_place& place, int device, uint64_t key);
    [[nodiscard]] bool has_turn(int device);
    void begin_registration(Registration how, const std::shared_ptr<Window>& window,
                            Windows unused);
    void await_registration(const tutti_backend_place& place);
    void await_end(const Failure& loss);
    struct Readiness;
    Readiness hold(const tutti_backend_place& place);
    bool hold_on_all_ranks(const tutti_backend_place& place);
    void begin_split(const tutti_backend_place& place, int color);
    void await_split(const tutti_backend_place& place, int color);
    void adopt(std::shared_ptr<Start> start, int device);
    void end_now(const Failure& why);
    [[nodiscard]] std::shared_ptr<Start> begin_finalize(Lock& lock);
    void finish(const Batch& calls) const;
    void end_comm(Comm comm, Batch calls) noexcept;
    void release() noexcept;

    const Library& nccl_;
    const tutti_backend_host& host_;
    const int rank_;
    const int size_;
    const UniqueId id_;  // of one that is not split from another
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
    std::shared_ptr<Start> start_;
    Comm comm_ = nullptr;
    std::deque<Batch> waiting_;
    Batch under_way_;          // NCCL has it, and has not said that it is on the stream
    std::vector<RedOp> ops_;   // made for that
    Stream stream_ = nullptr;  // of that
    Batch gathered_;           // messages that go together
    int together_ = 0;
    uint64_t last_sequence_ = 0;    // of the collectives so far
    bool is_held_ = false;          // for a split: no call begins
    std::shared_ptr<Start> split_;  // the last, which NCCL may write as long as this is there
    std::vector<Scratch> scratch_;  // the last is the largest
    Windows windows_;               // on all ranks alike
    size_t registered_bytes_ = 0;   // so far
    bool is_sharing_ = false;       // then no more calls begin than
    size_t ahead_ = 0;              // these, the first that wait
    std::shared_ptr<Start> registering_;
    cuda::Event last_use_ = nullptr;  // the end of the last call that was issued beside windows
    bool is_finalizing_ = false;      // a thread is in ncclCommFinalize, which may take long
    int enders_ = 0;                  // threads that end the communicator
};

}  // namespace tutti::nccl
