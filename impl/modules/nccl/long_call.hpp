// A call of NCCL's that may take long: it makes a communicator, registers memory, finalizes. If
// NCCL blocks, the call has a thread of its own, else NCCL itself works in the background after the
// call has returned. Any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "library.hpp"

namespace tutti::nccl {

class LongCall {
public:
    // Writes the communicator that it makes, if it makes one.
    using Make = std::function<Result(Comm* made, Config* config)>;
    // In the context of the device. Throws Failure.
    static std::shared_ptr<LongCall> begin(const Library& nccl, int device, Make make,
                                           const Config& how);

    [[nodiscard]] bool has_returned() const { return state_ == Returned; }
    // Once it has returned.
    [[nodiscard]] Result result() const { return result_; }
    // NCCL may write that of a split after the call has returned, as long as this object lives.
    [[nodiscard]] Comm made() { return std::atomic_ref<Comm>(made_).load(); }
    // False: it runs, and the thread that makes the communicator aborts it.
    [[nodiscard]] bool give_up() { return state_.exchange(GivenUp) == Returned; }

private:
    enum State { Running, Returned, GivenUp };

    Comm made_ = nullptr;
    Result result_ = Result::InProgress;
    std::atomic<State> state_{Running};
};

}  // namespace tutti::nccl
