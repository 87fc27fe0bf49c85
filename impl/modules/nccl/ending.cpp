// The end of a communicator: by an abort, which a thread of its own does, since it may take long;
// or by leaving, after which it is destroyed.
#include <chrono>
#include <utility>

#include "communicator.hpp"
#include "detached.hpp"
#include "pauses.hpp"

namespace tutti::nccl {

namespace {

constexpr std::chrono::seconds leave_time{1};
constexpr std::chrono::seconds close_time{2};
// For calls on the stream, and for a finalize that has begun, before they are aborted.
constexpr std::chrono::milliseconds drain_time{20};

}  // namespace

void Communicator::abort(const Failure& why) {
    Batch failed;
    {
        const Lock lock(mutex_);
        if (stage_ != Stage::Ended) end(why, failed);
    }
    finish(failed);
}

// Nothing goes on from here. Calls that are not NCCL's yet have failed; the others end with the
// communicator.
void Communicator::end(const Failure& why, Batch& failed) {
    const bool may_run =
        stage_ == Stage::Starting || stage_ == Stage::Ready || stage_ == Stage::Leaving;
    stage_ = Stage::Ended;
    why_ = why;
    failed = queue_.take_all();
    Batch calls = issuing_.take();
    Comm const comm = may_run && start_ != nullptr && start_->give_up() ? start_->made() : nullptr;
    if (comm == nullptr) {
        failed.insert(failed.end(), calls.begin(), calls.end());
        give_device();
        return;
    }
    ++enders_;
    if (start_detached([self = shared_from_this(), comm, calls] { self->end_comm(comm, calls); })) {
        return;
    }
    --enders_;  // it stays as it is
    failed.insert(failed.end(), calls.begin(), calls.end());
}

// The abort ends a finalize that hangs; one that has just begun, or ends by itself, is not
// disturbed.
void Communicator::end_comm(Comm comm, const Batch& calls) noexcept {
    try {
        const cuda::InContext context(nccl_.driver(), device_);
        WindowList windows;
        {
            Lock lock(mutex_);
            const auto until = Clock::now() + drain_time;
            ended_.wait_until(lock, until, [this] { return !is_finalizing_; });
            const bool may_deregister = calls.empty() && common_ == nullptr && !windows_.empty();
            if (may_deregister && await_unused_windows(lock, until)) windows = windows_.take_all();
        }
        deregister(nccl_, comm, windows);
        free_later(std::move(windows));
        nccl_.comm_abort(comm);
    } catch (const Failure&) {  // the device is lost
    }
    give_device();
    finish(calls);
    const Lock lock(mutex_);
    free_later(windows_.take_all());
    comm_ = nullptr;
    --enders_;
    ended_.notify_all();
}

// Before the communicator ends. Takes the device; false: calls use windows, or another communicator
// has the device. Then NCCL would wait, or take memory from a call that needs it.
bool Communicator::await_unused_windows(Lock& lock, Clock::time_point until) {
    const Stage stage = stage_;
    while (windows_.are_in_use() || !take_device()) {
        if (Clock::now() > until) return false;
        ended_.wait_for(lock, rest);
        if (stage_ != stage) return false;
    }
    return true;
}

void Communicator::leave() {
    Lock lock(mutex_);
    if (stage_ != Stage::Ready || !issuing_.is_idle() || !queue_.is_at_rest()) return;
    stage_ = Stage::Leaving;
    try {
        const cuda::InContext context(nccl_.driver(), device_);
        const auto until = Clock::now() + leave_time;
        if (!windows_.empty()) {
            if (!await_unused_windows(lock, until)) return;
            end_windows();
        }
        const auto finalizing = begin_finalize(lock);
        while (stage_ == Stage::Leaving) {
            if (finalizing->has_returned()) {
                nccl_.check(finalizing->result(), "ncclCommFinalize", comm_);
                if (is_settled()) stage_ = Stage::Left;
            }
            if (Clock::now() > until) return;  // then it is aborted
            if (stage_ == Stage::Leaving) ended_.wait_for(lock, rest);
        }
    } catch (const Failure&) {  // as well
    }
}

void Communicator::end_windows() {
    WindowList windows = windows_.take_all();
    deregister(nccl_, comm_, windows);
    free_later(std::move(windows));
    give_device();
}

// NCCL waits in it for the other ranks, if it blocks. So no lock is held: an abort must be able to
// end it.
std::shared_ptr<LongCall> Communicator::begin_finalize(Lock& lock) {
    is_finalizing_ = true;
    const auto finalize = [self = shared_from_this(), comm = comm_](Comm*, Config*) {
        const Result result = self->nccl_.comm_finalize(comm);
        const Lock ended(self->mutex_);
        self->is_finalizing_ = false;
        self->ended_.notify_all();
        return result;
    };
    lock.unlock();
    try {
        auto begun = LongCall::begin(nccl_, device_, finalize, settings_.config);
        lock.lock();
        return begun;
    } catch (const Failure&) {  // no thread for it
        lock.lock();
        is_finalizing_ = false;
        throw;
    }
}

void Communicator::close() {
    Lock lock(mutex_);
    Batch none;
    if (stage_ == Stage::Starting) end({TUTTI_ERR_ABORTED, 0, "this rank has left"}, none);
    ended_.wait_for(lock, close_time, [this] { return enders_ == 0; });
    if (enders_ > 0) return;                          // NCCL hangs: what it uses stays
    if (comm_ != nullptr || windows_.have_event()) {  // else it has perhaps no device
        try {
            const cuda::InContext context(nccl_.driver(), device_);
            if (comm_ != nullptr) nccl_.comm_destroy(comm_);
            comm_ = nullptr;
            windows_.end();
        } catch (const Failure&) {
        }
    }
    issuing_.free_memory(device_);
}

}  // namespace tutti::nccl
