#include "communicator.hpp"

#include <atomic>
#include <thread>
#include <utility>

#include "pauses.hpp"
#include "turns.hpp"

namespace tutti::nccl {

namespace {

constexpr std::chrono::milliseconds time_to_drain{2};  // while calls are held back

}  // namespace

Communicator::Communicator(const Library& nccl, const tutti_backend_place& place,
                           const UniqueId& id, const Settings& settings)
    : nccl_(nccl),
      host_(*place.host),
      member_{place.rank, place.size, id},
      settings_(settings),
      is_bound_(place.is_bound != 0),
      issuing_(nccl, host_, place.rank, place.size),
      windows_(nccl, settings.symmetric) {}

void Communicator::start_on(int device) {
    const Lock lock(mutex_);
    device_ = device;
    start();
}

void Communicator::adopt(std::shared_ptr<LongCall> split, const Communicator& parent) {
    const Lock lock(mutex_);
    stage_ = Stage::Starting;
    start_ = std::move(split);
    device_ = parent.device_;
}

void Communicator::post(const tutti_backend_call* call) {
    Batch failed;
    {
        const Lock lock(mutex_);
        check_not_ended();
        if (stage_ == Stage::Unused) device_ = call->device_index;
        queue_.add(call);
        go_on(failed);
    }
    finish(failed);
}

void Communicator::check_not_ended() const {
    if (stage_ == Stage::Ended) throw why_;
    if (stage_ != Stage::Leaving && stage_ != Stage::Left) return;
    throw Failure{TUTTI_ERR_ABORTED, 0, "this rank has left"};
}

void Communicator::together(bool begins) {
    Batch failed;
    {
        const Lock lock(mutex_);
        if (!queue_.gather(begins)) return;
        if (stage_ == Stage::Ended) {
            failed = queue_.take_all();
        } else {
            go_on(failed);
        }
    }
    finish(failed);
}

bool Communicator::test() {
    Batch failed;
    bool moved = false;
    {
        const Lock lock(mutex_);
        moved = go_on(failed);
    }
    finish(failed);
    return moved || !failed.empty();
}

void Communicator::check() {
    const Lock lock(mutex_);
    if (loss_) throw *loss_;
    if (stage_ != Stage::Ready || !issuing_.is_idle() || queue_.is_held()) return;
    is_settled();
}

bool Communicator::go_on(Batch& failed) {
    bool moved = false;
    try {
        while (!loss_ && step()) moved = true;
    } catch (const Failure& failure) {
        if (failure.status == TUTTI_ERR_PEER_LOST && stage_ != Stage::Ended) {
            loss_ = failure;
        } else {
            end(failure, failed);
        }
    } catch (const std::exception& error) {
        end({TUTTI_ERR_OUT_OF_MEMORY, 0, error.what()}, failed);
    }
    return moved;
}

// False: there is nothing to do, or NCCL or another communicator is to be waited for.
bool Communicator::step() {
    switch (stage_) {
        case Stage::Unused:
            if (!queue_.has_waiting()) return false;
            start();
            return true;
        case Stage::Starting:
            return has_started();
        case Stage::Ready:
            if (!issuing_.is_idle()) {
                if (!is_settled()) return false;
                end_issue();
                return true;
            }
            if (!queue_.has_next() || !take_device()) return false;
            issuing_.begin(queue_.take_next(), comm_, device_);
            return true;
        default:
            return false;
    }
}

void Communicator::start() {
    stage_ = Stage::Starting;
    const auto make = [&nccl = nccl_, member = member_](Comm* made, Config* how) {
        return nccl.comm_init(made, member.size, member.id, member.rank, how);
    };
    start_ = LongCall::begin(nccl_, device_, make, settings_.config);
}

bool Communicator::has_started() {
    if (!start_->has_returned()) return false;
    nccl_.check(start_->result(), "ncclCommInitRankConfig", start_->made());
    comm_ = start_->made();
    if (!is_settled()) return false;
    stage_ = Stage::Ready;
    return true;
}

// Whether NCCL has done all that was asked of it.
bool Communicator::is_settled() {
    Result result = Result::Success;
    nccl_.check(nccl_.async_error(comm_, &result), "ncclCommGetAsyncError", comm_);
    nccl_.check(result, "NCCL", comm_);
    return result == Result::Success;
}

bool Communicator::take_device() {
    return nccl::take_device(device_, this);
}

void Communicator::give_device() {
    if (device_ != no_device) nccl::give_device(device_, this);
}

void Communicator::end_issue() {
    issuing_.end_ops(comm_);
    if (!windows_.empty()) windows_.note_use(issuing_.stream(), device_);
    give_device();
    issuing_.notify_host();
}

void Communicator::finish(const Batch& calls) const {
    if (calls.empty()) return;
    const tutti_error error = error_of(why_);
    for (const tutti_backend_call* call : calls) host_.finish(call, why_.status, -1, &error);
}

// Whether nothing that came is still to begin, or on a stream.
bool Communicator::is_drained(const tutti_backend_place& place) const {
    if (!issuing_.is_idle() || !queue_.is_drained()) return false;
    for (const auto until = Clock::now() + time_to_drain;;) {
        tutti_error error = error_of({});
        int32_t ended = 0;
        const tutti_status status = host_.all_ended(&place, &ended, &error);
        if (status != TUTTI_OK) throw Failure{status, 0, error.message};
        if (ended == 1) return true;
        if (Clock::now() > until) return false;
        std::this_thread::yield();
    }
}

Communicator::Readiness Communicator::hold_calls(const tutti_backend_place& place) {
    test();
    const Lock lock(mutex_);
    check_not_ended();
    if (!is_bound_ || stage_ == Stage::Unused) return {Readiness::Never, 0};
    const bool is_idle = stage_ == Stage::Ready && is_drained(place);
    queue_.hold(is_idle);
    return {is_idle ? Readiness::Idle : Readiness::Busy, queue_.last_sequence()};
}

void Communicator::release_calls() {
    {
        const Lock lock(mutex_);
        queue_.hold(false);
    }
    test();  // what came meanwhile
}

void Communicator::begin_sharing() {
    const Lock lock(mutex_);
    queue_.begin_sharing();
}

void Communicator::end_sharing() {
    {
        const Lock lock(mutex_);
        queue_.end_sharing();
    }
    test();  // what came meanwhile
}

bool Communicator::take_turn(int device) {
    test();
    const Lock lock(mutex_);
    check_not_ended();
    if (loss_) throw *loss_;
    if (stage_ == Stage::Unused) {
        device_ = device;
        start();
    }
    return stage_ == Stage::Ready && issuing_.is_idle() && queue_.has_none_ahead() &&
           !queue_.is_held() && take_device();
}

void Communicator::give_turn() {
    {
        const Lock lock(mutex_);
        if (issuing_.is_idle()) give_device();  // else a call has it
        queue_.allow_waiting();
    }
    test();
}

Communicator::Known Communicator::windows_for(const Memory& memory) {
    const Lock lock(mutex_);
    check_not_ended();
    const bool is_elsewhere = stage_ != Stage::Unused && device_ != memory.device();
    return {windows_.all(), is_elsewhere ? Registration::None : windows_.best_for(memory)};
}

void Communicator::begin_split(int color, int key, const Config& how) {
    const Lock lock(mutex_);
    if (stage_ != Stage::Ready) throw why_;
    common_ = LongCall::begin(
        nccl_, device_,
        [&nccl = nccl_, comm = comm_, color, key](Comm* made, Config* config) {
            return nccl.comm_split(comm, color, key, made, config);
        },
        how);
}

void Communicator::begin_registration(Registration how, const std::shared_ptr<Window>& window,
                                      WindowList unused) {
    const Lock lock(mutex_);
    if (stage_ != Stage::Ready) throw why_;
    windows_.add(window, unused);
    common_ = LongCall::begin(
        nccl_, device_,
        [self = shared_from_this(), how, comm = comm_, window, unused = std::move(unused)](
            Comm*, Config*) mutable {
            deregister(self->nccl_, comm, unused);
            free_later(std::move(unused));
            return register_window(self->nccl_, comm, how, *window);
        },
        settings_.config);
}

std::shared_ptr<LongCall> Communicator::await_call(
    const tutti_backend_place& place, const char* name, const char* late,
    const std::function<bool(LongCall&)>& condition) {
    const auto begun = Clock::now();
    for (;; std::this_thread::sleep_for(rest)) {
        const Lock lock(mutex_);
        if (stage_ != Stage::Ready) throw why_;
        if (common_->has_returned()) {
            nccl_.check(common_->result(), name, comm_);
            if (is_settled() && condition(*common_)) {
                give_device();
                return std::exchange(common_, nullptr);
            }
        }
        const bool has_limit = place.timeout_ms >= 0;
        if (has_limit && Clock::now() - begun > std::chrono::milliseconds(place.timeout_ms)) {
            throw Failure{TUTTI_ERR_TIMEOUT, 0, late};
        }
    }
}

void Communicator::await_abort(const Failure& loss) {
    constexpr std::chrono::seconds patience{5};  // for the host to say which rank is lost
    Lock lock(mutex_);
    const auto until = Clock::now() + patience;
    while (stage_ != Stage::Ended && Clock::now() < until) ended_.wait_for(lock, rest);
    throw stage_ == Stage::Ended ? why_ : loss;
}

}  // namespace tutti::nccl
