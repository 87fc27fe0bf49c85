// A work of PyTorch's is used by any thread. Nothing here takes Python's lock: what continues a
// future does so itself, on tutti's thread for callbacks.
#include "work.hpp"

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include <atomic>
#include <utility>

#include "compat.hpp"
#include "error.hpp"
#include "stream.hpp"

namespace tutti_torch {
namespace {

// A list of tensors, as PyTorch's own backends give it.
Future new_future(const Tensors& results) {
    std::vector<c10::Device> devices;
    if (!results.empty() && !results.front().device().is_cpu()) {
        devices.push_back(results.front().device());
    }
    return c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()),
                                                    std::move(devices));
}

int64_t limit_of(std::chrono::milliseconds timeout) {
    return timeout.count() <= 0 ? TUTTI_NO_TIMEOUT : timeout.count();
}

// The tensors of a work, if a profiler wants to know.
std::optional<Tensors> profiled(const Running& running) {
    if (!at::hasCallbacks()) return std::nullopt;
    return running.operands().read();
}

// For tutti_work_then: the last of several works acts.
struct Continuation {
    std::shared_ptr<Running> running;
    std::function<void()> act;
    std::atomic<size_t> left;
};

void work_ended(const tutti_error* /*result*/, void* user) {
    auto* one = static_cast<Continuation*>(user);
    if (one->left.fetch_sub(1) != 1) return;
    const std::unique_ptr<Continuation> last(one);
    try {
        last->act();
    } catch (const std::exception& thrown) {
        TORCH_WARN("tutti: a continuation of a work failed: ", thrown.what());
    }
}

}  // namespace

FinishedWork::FinishedWork(c10d::OpType op, Tensors results, uint64_t sequence)
    : Work(-1, op), results_(std::move(results)), sequence_(sequence) {}

bool FinishedWork::wait(std::chrono::milliseconds /*timeout*/) {
    return true;
}

Future FinishedWork::getFuture() {
    const std::lock_guard lock(future_mutex_);
    if (!future_) {
        future_ = new_future(results_);
        future_->markCompleted(c10::IValue(results_));
    }
    return future_;
}

Running::Running(std::vector<tutti_work*> works, Operands operands, Tensors results)
    : works_(std::move(works)), operands_(std::move(operands)), results_(std::move(results)) {}

Running::~Running() {
    for (tutti_work* work : works_) tutti_work_release(work);
}

void Running::finish() {
    std::call_once(finished_, [this] {
        try {
            operands_.finish();
        } catch (...) {
            own_failure_ = std::current_exception();
        }
    });
}

void Running::wait(std::chrono::milliseconds timeout) {
    tutti_error error = no_error();
    if (operands_.on_device() && works_.size() == 1) {
        if (void* stream = current_stream(operands_.device())) {
            check(tutti_work_synchronize(works_.front(), stream, &error), error);
            return finish_or_throw();
        }
    }
    const tutti_status status =
        works_.size() == 1 ? tutti_work_wait(works_.front(), limit_of(timeout), &error)
                           : tutti_work_wait_all(works_.data(), static_cast<int64_t>(works_.size()),
                                                 limit_of(timeout), &error);
    if (status == TUTTI_ERR_PENDING) {
        C10_THROW_ERROR(DistBackendError,
                        c10::str("tutti: Operation timed out: a wait of ", timeout.count(),
                                 " ms expired, and the operation goes on"));
    }
    check(status, error);
    finish_or_throw();
}

bool Running::is_done() {
    for (tutti_work* work : works_) {
        int32_t completed = 0;
        tutti_error error = no_error();
        check(tutti_work_is_completed(work, &completed, &error), error);
        if (completed == 0) return false;
    }
    if (!failure_of_works()) finish();
    return true;
}

std::exception_ptr Running::failure() {
    if (std::exception_ptr failure = failure_of_works()) return failure;
    return is_done() ? own_failure_ : nullptr;
}

std::exception_ptr Running::failure_of_works() const {
    for (tutti_work* work : works_) {
        tutti_error error = no_error();
        const tutti_status status = tutti_work_error(work, &error);
        if (status != TUTTI_OK) return exception_of(status, error);
    }
    return nullptr;
}

void Running::finish_or_throw() {
    finish();
    if (own_failure_) std::rethrow_exception(own_failure_);
}

int32_t Running::source_rank() const {
    int32_t rank = -1;
    if (works_.size() == 1) tutti_work_source_rank(works_.front(), &rank, nullptr);
    return rank;
}

double Running::duration_ms() const {
    double longest = 0;
    for (tutti_work* work : works_) {
        double one = 0;
        tutti_work_get_duration(work, &one, nullptr);
        longest = std::max(longest, one);
    }
    return longest;
}

void Running::then(const std::shared_ptr<Running>& self, std::function<void()> act) {
    const size_t count = self->works_.size();
    if (count == 0) return act();
    auto shared = std::make_unique<Continuation>();
    shared->running = self;
    shared->act = std::move(act);
    shared->left = count;
    Continuation* const user = shared.get();
    for (size_t i = 0; i < count; ++i) {
        tutti_error error = no_error();
        const tutti_status status =
            tutti_work_then(self->works_[i], work_ended, user, nullptr, &error);
        if (i == 0) check(status, error);  // nothing refers to it yet
        shared.release();
        if (status != TUTTI_OK) work_ended(nullptr, user);
    }
}

RunningWork::RunningWork(c10d::OpType op, const char* title, std::shared_ptr<Running> running,
                         uint64_t sequence)
    : Work(-1, op, at::hasCallbacks() ? title : nullptr, profiled(*running)),
      running_(std::move(running)),
      sequence_(sequence) {}

// The tensors stay until the operation has ended: it writes into them.
RunningWork::~RunningWork() {
    try {
        if (!running_->is_done()) {
            Running::then(running_, [running = running_.get()] { running->is_done(); });
        }
    } catch (const std::exception& thrown) {
        TORCH_WARN("tutti: a work that nobody waits for: ", thrown.what());
    }
}

void RunningWork::end_profile() {
    std::call_once(profiled_, [this] {
        if (recordFunctionEndCallback_) recordFunctionEndCallback_();
    });
}

bool RunningWork::isCompleted() {
    const bool is_done = running_->is_done();
    if (is_done) end_profile();
    return is_done;
}

bool RunningWork::isSuccess() const {
    return running_->is_done() && !running_->failure();
}

bool RunningWork::wait(std::chrono::milliseconds timeout) {
    running_->wait(timeout);
    end_profile();
    return true;
}

void RunningWork::abort() {
    C10_THROW_ERROR(NotImplementedError,
                    "tutti: one work cannot be aborted; abort() of the group ends all of them");
}

Future RunningWork::getFuture() {
    const std::lock_guard lock(future_mutex_);
    if (future_) return future_;
    future_ = new_future(running_->results());
    Running::then(running_, [running = running_.get(), future = future_] {
        try {
            if (std::exception_ptr failure = running->failure()) {
                future->setError(std::move(failure));
            } else {
                future->markCompleted(c10::IValue(running->results()));
            }
        } catch (...) {
            future->setErrorIfNeeded(std::current_exception());
        }
    });
    return future_;
}

}  // namespace tutti_torch
