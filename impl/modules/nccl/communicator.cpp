#include "communicator.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "mapping.hpp"
#include "pauses.hpp"

namespace tutti::nccl {

namespace {

constexpr std::chrono::seconds leave_time{1};
constexpr std::chrono::seconds close_time{2};
constexpr std::chrono::milliseconds drain_time{20};  // of a communicator that is aborted

// NCCL takes calls for one device from one communicator at a time, in the whole process.
constexpr size_t max_devices = 64;
std::array<std::atomic<const void*>, max_devices> device_owners{};

std::atomic<const void*>& owner_of(int device) {
    return device_owners[static_cast<size_t>(device) % max_devices];
}

}  // namespace

tutti_error error_of(const Failure& failure) {
    tutti_error error{};
    error.struct_size = sizeof error;
    error.status = failure.status;
    error.rank = -1;
    const size_t length = std::min(failure.message.size(), sizeof error.message - 1);
    std::memcpy(error.message, failure.message.data(), length);
    return error;
}

Communicator::Communicator(const Library& nccl, const tutti_backend_place& place,
                           const UniqueId& id, const Settings& settings)
    : nccl_(nccl),
      host_(*place.host),
      rank_(place.rank),
      size_(place.size),
      id_(id),
      settings_(settings),
      is_bound_(place.is_bound != 0) {}

void Communicator::start_on(int device) {
    const Lock lock(mutex_);
    device_ = device;
    start();
}

void Communicator::post(const tutti_backend_call* call) {
    const bool is_message = call->kind == TUTTI_CALL_SEND || call->kind == TUTTI_CALL_RECEIVE;
    Batch failed;
    {
        const Lock lock(mutex_);
        check_not_ended();
        if (stage_ == Stage::Unused) device_ = call->device_index;
        last_sequence_ = std::max(last_sequence_, call->sequence);
        if (is_message && together_ > 0) {
            gathered_.push_back(call);
        } else {
            waiting_.push_back({call});
            go_on(failed);
        }
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
        together_ += begins ? 1 : -1;
        if (together_ > 0 || gathered_.empty()) return;
        if (stage_ == Stage::Ended) {
            failed = std::exchange(gathered_, {});
        } else {
            waiting_.push_back(std::exchange(gathered_, {}));
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
    if (stage_ != Stage::Ready || !under_way_.empty() || is_held_) return;
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
            if (waiting_.empty()) return false;
            start();
            return true;
        case Stage::Starting:
            return has_started();
        case Stage::Ready:
            if (!under_way_.empty()) {
                if (!is_settled()) return false;
                end_issue();
                return true;
            }
            if (waiting_.empty() || is_held_ || (is_sharing_ && ahead_ == 0)) return false;
            if (!take_device()) return false;
            under_way_ = std::move(waiting_.front());
            waiting_.pop_front();
            if (is_sharing_) --ahead_;
            issue(under_way_);
            return true;
        default:
            return false;
    }
}

void Communicator::start() {
    stage_ = Stage::Starting;
    start_ =
        begin([&nccl = nccl_, id = id_, rank = rank_, size = size_](
                  Comm* comm, Config* how) { return nccl.comm_init(comm, size, id, rank, how); },
              settings_.config);
}

std::shared_ptr<Communicator::Start> Communicator::begin(Make make, const Config& how) const {
    auto start = std::make_shared<Start>();
    auto run = [&nccl = nccl_, start, make = std::move(make), device = device_,
                config = how]() mutable {
        try {
            const cuda::InContext context(nccl.driver(), device);
            start->result = make(&start->comm, &config);
            const bool is_given_up = start->state.exchange(Start::Returned) == Start::GivenUp;
            if (is_given_up && start->comm != nullptr) nccl.comm_abort(start->comm);
        } catch (const Failure&) {
            start->result = Result::UnhandledCudaError;
            start->state = Start::Returned;
        }
    };
    if (settings_.config.blocking == 1) {
        try {
            std::thread(run).detach();
        } catch (const std::system_error& error) {
            throw Failure{TUTTI_ERR_OUT_OF_MEMORY, error.code().value(),
                          std::string("cannot start a thread: ") + error.what()};
        }
    } else {
        run();
    }
    return start;
}

bool Communicator::has_started() {
    if (!start_->has_returned()) return false;
    nccl_.check(start_->result, "ncclCommInitRankConfig", start_->comm);
    comm_ = start_->comm;
    if (!is_settled()) return false;
    stage_ = Stage::Ready;
    return true;
}

// Whether NCCL has done what it was told.
bool Communicator::is_settled() {
    Result result = Result::Success;
    nccl_.check(nccl_.async_error(comm_, &result), "ncclCommGetAsyncError", comm_);
    nccl_.check(result, "NCCL", comm_);
    return result == Result::Success;
}

bool Communicator::take_device() {
    const void* nobody = nullptr;
    auto& owner = owner_of(device_);
    return owner.compare_exchange_strong(nobody, this) || nobody == this;
}

void Communicator::give_device() {
    if (device_ == no_device) return;
    const void* mine = this;
    owner_of(device_).compare_exchange_strong(mine, nullptr);
}

void Communicator::issue(const Batch& batch) {
    const cuda::InContext context(nccl_.driver(), device_);
    Stream stream = nullptr;
    std::vector<Part> parts;
    size_t used = 0;
    for (const tutti_backend_call* call : batch) {
        stream = stream_of(call);
        prepare(call, stream, used, parts);
    }
    nccl_.check(nccl_.group_start(), "ncclGroupStart");
    try {
        const Putting putting(nccl_, comm_, stream, rank_, size_);
        for (const Part& part : parts) putting.put(part);
    } catch (...) {
        nccl_.group_end();
        throw;
    }
    nccl_.check(nccl_.group_end(), "ncclGroupEnd", comm_);
    stream_ = stream;
}

Stream Communicator::stream_of(const tutti_backend_call* call) const {
    tutti_error error = error_of({});
    void* stream = nullptr;
    const tutti_status status = host_.stream(call, &stream, &error);
    if (status != TUTTI_OK) throw Failure{status, 0, error.message};
    return static_cast<Stream>(stream);
}

// Runs before the group: ops are made, and what would be overwritten is copied.
void Communicator::prepare(const tutti_backend_call* call, Stream stream, size_t& used,
                           std::vector<Part>& parts) {
    if (call->kind == TUTTI_CALL_COALESCED) {
        for (int64_t index = 0; index < call->call_count; ++index) {
            prepare(call->calls[index], stream, used, parts);
        }
        return;
    }
    Part part{call, {}, op_of(call->op, call->dtype)};
    if (is_reduction(*call) && call->op == TUTTI_PREMUL_SUM) {
        alignas(16) std::array<std::byte, 16> factor{};
        write_one(call->dtype, factor.data());
        host_.reduce_begin(call, factor.data(), factor.data(), 1);
        nccl_.check(nccl_.redop_create(&part.op, factor.data(), elements_of(call->dtype).type,
                                       Residence::HostImmediate, comm_),
                    "ncclRedOpCreatePreMulSum", comm_);
        ops_.push_back(part.op);
    }
    if (has_overwritten(*call)) copy_inputs(part, stream, used);
    parts.push_back(std::move(part));
}

// Behind each other, as they are in a tensor.
void Communicator::copy_inputs(Part& part, Stream stream, size_t& used) {
    const tutti_backend_call& call = *part.call;
    size_t bytes = 0;
    for (int64_t input = 0; input < call.input_count; ++input) {
        bytes += static_cast<size_t>(call.inputs[input].count) * call.element_size;
    }
    cuda::DevicePointer copy = scratch(used, bytes);
    used += bytes;
    for (int64_t input = 0; input < call.input_count; ++input) {
        const tutti_piece& piece = call.inputs[input];
        const size_t size = static_cast<size_t>(piece.count) * call.element_size;
        const auto from = reinterpret_cast<cuda::DevicePointer>(piece.data);
        if (size > 0) {
            nccl_.driver().check(nccl_.driver().copy_async(copy, from, size, stream),
                                 "cuMemcpyAsync");
        }
        part.inputs.push_back(reinterpret_cast<const void*>(copy));
        copy += size;
    }
}

// Uses of it follow each other on the stream. What is too small stays where it is, in use.
cuda::DevicePointer Communicator::scratch(size_t offset, size_t bytes) {
    if (scratch_.empty() || offset + bytes > scratch_.back().bytes) {
        const size_t least = scratch_.empty() ? size_t{1} << 20 : 2 * scratch_.back().bytes;
        const size_t size = std::max(least, offset + bytes);
        cuda::DevicePointer memory = 0;
        nccl_.driver().check(nccl_.driver().alloc(&memory, size), "cuMemAlloc");
        scratch_.push_back({memory, size});
    }
    return scratch_.back().memory + offset;
}

void Communicator::end_issue() {
    for (const RedOp op : ops_) nccl_.redop_destroy(op, comm_);
    ops_.clear();
    if (!windows_.empty()) note_use(stream_);
    give_device();
    for (const tutti_backend_call* call : std::exchange(under_way_, {})) host_.enqueued(call);
}

// Nothing goes on from here. Calls that are not NCCL's yet have failed; the others end with the
// communicator.
void Communicator::end(const Failure& why, Batch& failed) {
    const bool may_run =
        stage_ == Stage::Starting || stage_ == Stage::Ready || stage_ == Stage::Leaving;
    stage_ = Stage::Ended;
    why_ = why;
    for (const Batch& batch : std::exchange(waiting_, {})) {
        failed.insert(failed.end(), batch.begin(), batch.end());
    }
    failed.insert(failed.end(), gathered_.begin(), gathered_.end());
    gathered_.clear();
    Comm comm = may_run && start_ != nullptr && start_->give_up() ? start_->comm : nullptr;
    if (comm == nullptr) {
        failed.insert(failed.end(), under_way_.begin(), under_way_.end());
        under_way_.clear();
        give_device();
        return;
    }
    ++enders_;
    try {
        std::thread([self = shared_from_this(), comm, calls = under_way_] {
            self->end_comm(comm, calls);
        }).detach();
    } catch (const std::system_error&) {
        --enders_;  // it stays as it is
        failed.insert(failed.end(), under_way_.begin(), under_way_.end());
    }
    under_way_.clear();
}

// Runs on a thread of its own, since it may take long. The abort ends a finalize that hangs; one
// that has just begun, or ends by itself, is not disturbed.
void Communicator::end_comm(Comm comm, Batch calls) noexcept {
    try {
        const cuda::InContext context(nccl_.driver(), device_);
        Windows windows;
        {
            Lock lock(mutex_);
            ended_.wait_for(lock, drain_time, [this] { return !is_finalizing_; });
        }
        if (calls.empty()) {
            Lock lock(mutex_);
            const bool has_some = !windows_.empty() && registering_ == nullptr;
            const auto until = std::chrono::steady_clock::now() + drain_time;
            if (has_some && await_unused(lock, until)) windows = std::exchange(windows_, {});
        }
        deregister(comm, windows);
        free_later(std::move(windows));
        nccl_.comm_abort(comm);
    } catch (const Failure&) {  // the device is lost
    }
    give_device();
    finish(calls);
    const Lock lock(mutex_);
    free_later(std::exchange(windows_, {}));
    comm_ = nullptr;
    --enders_;
    ended_.notify_all();
}

void Communicator::finish(const Batch& calls) const {
    if (calls.empty()) return;
    const tutti_error error = error_of(why_);
    for (const tutti_backend_call* call : calls) host_.finish(call, why_.status, -1, &error);
}

void Communicator::abort(tutti_status status, const std::string& why) {
    end_now({status, 0, why});
}

void Communicator::end_now(const Failure& why) {
    Batch failed;
    {
        const Lock lock(mutex_);
        if (stage_ != Stage::Ended) end(why, failed);
    }
    finish(failed);
}

// Waits until the calls on the stream end, on all ranks.
void Communicator::leave() {
    Lock lock(mutex_);
    if (stage_ != Stage::Ready || !under_way_.empty() || !waiting_.empty()) return;
    if (is_held_ || is_sharing_) return;
    stage_ = Stage::Leaving;
    try {
        const cuda::InContext context(nccl_.driver(), device_);
        const auto until = std::chrono::steady_clock::now() + leave_time;
        if (!windows_.empty()) {
            if (!await_unused(lock, until)) return;
            deregister(comm_, windows_);
            free_later(std::exchange(windows_, {}));
            give_device();
        }
        const auto finalizing = begin_finalize(lock);
        while (stage_ == Stage::Leaving) {
            if (finalizing->has_returned()) {
                nccl_.check(finalizing->result, "ncclCommFinalize", comm_);
                if (is_settled()) stage_ = Stage::Left;
            }
            if (std::chrono::steady_clock::now() > until) return;  // then it is aborted
            if (stage_ == Stage::Leaving) ended_.wait_for(lock, rest);
        }
    } catch (const Failure&) {  // as well
    }
}

// NCCL waits in it for the other ranks, if it blocks. So no lock is held: an abort must be able to
// end it.
std::shared_ptr<Communicator::Start> Communicator::begin_finalize(Lock& lock) {
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
        auto begun = begin(finalize, settings_.config);
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
    if (enders_ > 0) return;  // NCCL hangs: what it uses stays
    if (comm_ == nullptr && last_use_ == nullptr) return release();  // maybe it never had a device
    try {
        const cuda::InContext context(nccl_.driver(), device_);
        if (comm_ != nullptr) nccl_.comm_destroy(comm_);
        comm_ = nullptr;
        if (last_use_ != nullptr) nccl_.driver().event_destroy(last_use_);
        last_use_ = nullptr;
    } catch (const Failure&) {
    }
    release();
}

// Freeing waits for all that the device does, so nobody waits for it.
void Communicator::release() noexcept {
    if (scratch_.empty()) return;
    try {
        std::thread([&nccl = nccl_, device = device_, scratch = std::exchange(scratch_, {})] {
            try {
                const cuda::InContext context(nccl.driver(), device);
                for (const Scratch& one : scratch) nccl.driver().free(one.memory);
            } catch (const Failure&) {
            }
        }).detach();
    } catch (const std::system_error&) {
    }
}

}  // namespace tutti::nccl
