// The functions of nccl.h that tutti uses.
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include <unistd.h>

#include "communicator.hpp"
#include "config.hpp"
#include "windows.hpp"

using namespace fake_nccl;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// The group that a thread has open.
struct Group {
    int depth = 0;
    ncclResult_t error = ncclSuccess;
    std::vector<Call> calls;
};
thread_local Group group;
std::atomic<int> splits{0};

// The last communicator that this process began has it; with the mutex. Never destroyed.
std::string& last_config() {
    static auto& text = *new std::string;
    return text;
}

bool take_config(const ncclConfig_t& config) {
    const std::lock_guard lock(mutex());
    return read_config(config, last_config());
}

Communicator& of(ncclComm_t comm) {
    if (comm == nullptr) report("a call on no communicator");
    return *reinterpret_cast<Communicator*>(comm);
}

// A thread in a call on a communicator.
class Inside {
public:
    explicit Inside(Communicator& comm) : comm_(comm) { ++comm_.inside; }
    ~Inside() { --comm_.inside; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

private:
    Communicator& comm_;
};

// NCCL makes its connections with the first collective: what blocks returns when all ranks have it.
void connect(Communicator& comm) {
    if (!comm.blocks || std::exchange(comm.is_connected, true)) return;
    std::atomic<int>& connected = comm.shared->segment->connected;
    ++connected;
    while (connected < comm.shared->ranks) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

ncclResult_t end_group() {
    std::vector<Call> calls = std::exchange(group.calls, {});
    if (group.error != ncclSuccess) return std::exchange(group.error, ncclSuccess);
    ncclResult_t result = ncclSuccess;
    while (!calls.empty()) {
        Communicator& comm = *calls.front().comm;
        const auto others = std::stable_partition(
            calls.begin(), calls.end(), [&](const Call& call) { return call.comm == &comm; });
        std::vector<Call> its(calls.begin(), others);
        calls.erase(calls.begin(), others);
        const bool has_collective =
            std::ranges::any_of(its, [](const Call& call) { return !call.is_message; });
        ncclResult_t one = ncclSuccess;
        {
            const std::lock_guard lock(mutex());
            const Inside inside(comm);
            one = take(comm, std::move(its));
        }
        if (one == ncclSuccess && has_collective) connect(comm);
        if (one != ncclSuccess && (result == ncclSuccess || result == ncclInProgress)) result = one;
    }
    return result;
}

// One that stands alone may return before it is on the stream.
ncclResult_t add(Call call, ncclComm_t comm, cudaStream_t stream) {
    call.comm = &of(comm);
    call.stream = stream;
    const bool is_alone = group.depth == 0;
    group.calls.push_back(std::move(call));
    if (!is_alone) return ncclSuccess;
    const ncclResult_t result = end_group();
    return result == ncclInProgress && group.calls.empty() ? ncclSuccess : result;
}

unsigned long long address(const void* memory) {
    return reinterpret_cast<unsigned long long>(memory);
}

ncclResult_t collective(Kind kind, const void* in, void* out, size_t count, ncclDataType_t type,
                        int op, int root, ncclComm_t comm, cudaStream_t stream) {
    if (type < 0 || type > ncclBfloat16) return ncclInvalidArgument;
    if (count == 0) return ncclSuccess;
    Call call;
    call.collective.shape = {kind, type, std::min<int>(op, ncclNumOps), root, count};
    call.collective.in = address(in);
    call.collective.out = address(out);
    if (op >= ncclNumOps) {
        const std::lock_guard lock(mutex());
        const auto made = of(comm).ops.find(op);
        if (made == of(comm).ops.end()) report("an op that was never made, or is gone");
        call.collective.has_factor = true;
        call.collective.factor = made->second.value;
        call.collective.whole_factor = made->second.whole;
        call.collective.shape.op = ncclNumOps;
    }
    find_places(of(comm), call.collective);
    return add(std::move(call), comm, stream);
}

ncclResult_t message(bool sends, const void* memory, size_t count, ncclDataType_t type, int peer,
                     ncclComm_t comm, cudaStream_t stream) {
    if (type < 0 || type > ncclBfloat16) return ncclInvalidArgument;
    if (peer < 0 || peer >= of(comm).shared->ranks) return ncclInvalidArgument;
    Call call;
    call.is_message = true;
    call.message = {sends, peer, address(memory), count * width_of(type), 0};
    return add(std::move(call), comm, stream);
}

// For a blocking communicator, and for the end of any. An abort by another thread ends it.
ncclResult_t wait_for(Communicator& comm) {
    const std::shared_ptr<Shared> shared = comm.shared;
    for (;;) {
        {
            const std::lock_guard lock(mutex());
            if (shared->is_aborted) return ncclInternalError;  // and `comm` is gone
            const ncclResult_t result = poll(comm);
            if (result != ncclInProgress) return result;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

// TUTTI_FAKE_NCCL_DIES_IN_FINALIZE: this process dies once all other ranks wait for it there.
void maybe_die(const Communicator& comm) {
    const char* const given = std::getenv("TUTTI_FAKE_NCCL_DIES_IN_FINALIZE");
    if (given == nullptr || std::strcmp(given, "1") != 0) return;
    while (comm.shared->segment->finalized < comm.shared->ranks - 1) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    static_cast<void>(raise(SIGKILL));
}

void let_go(Communicator* comm) {
    if (!comm->given.is_as_it_was()) report("the name of a communicator did not stay");
    forget_windows(*comm);
    forget_calls(*comm);
    forget(comm->name);
    const std::lock_guard lock(mutex());
    comm->shared->is_aborted = true;
    delete comm;
}

}  // namespace

EXPORT ncclResult_t ncclGetVersion(int* version) {
    *version = FAKE_NCCL_VERSION;
    return ncclSuccess;
}

EXPORT const char* ncclGetErrorString(ncclResult_t result) {
    static const char* const texts[] = {"no error",
                                        "unhandled cuda error",
                                        "system error",
                                        "internal error",
                                        "invalid argument",
                                        "invalid usage",
                                        "remote process exited or there was a network error",
                                        "NCCL operation in progress"};
    return result >= 0 && result < ncclNumResults ? texts[result] : "unknown result code";
}

EXPORT const char* ncclGetLastError(ncclComm_t) {
    return "";
}

EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    static std::atomic<int> number{0};
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    forget_abandoned();
    std::memset(id, 0, sizeof *id);
    (void)std::snprintf(id->internal, sizeof id->internal, "%s%d_%d_%llx", name_start,
                        static_cast<int>(getpid()), number++, static_cast<long long>(now));
    return ncclSuccess;
}

EXPORT ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int ranks, ncclUniqueId id, int rank,
                                           ncclConfig_t* config) {
    if (ranks < 1 || ranks > max_ranks || rank < 0 || rank >= ranks) return ncclInvalidArgument;
    if (!take_config(*config)) return ncclInvalidArgument;
    int device = 0;
    if (driver().context_device(&device) != 0) return ncclSystemError;
    Communicator* const comm = join(id.internal, rank, ranks, device, config->blocking != 0);
    if (comm == nullptr) return ncclSystemError;
    comm->given = Name(comm_name(*config));
    *made = reinterpret_cast<ncclComm_t>(comm);
    return comm->blocks ? wait_for(*comm) : ncclInProgress;
}

// The new communicator is there only when the old one is no longer in progress.
EXPORT ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made,
                                  ncclConfig_t* config) {
    if (color < NCCL_SPLIT_NOCOLOR || !take_config(*config)) return ncclInvalidArgument;
    Communicator& one = of(comm);
    *made = nullptr;
    {
        const std::lock_guard lock(mutex());
        if (is_in_progress(one)) report("ncclCommSplit of a communicator that is in progress");
        if (one.shared->done != one.shared->launched) {
            report("ncclCommSplit of a communicator with calls under way");
        }
        one.delay = one.blocks ? 0 : draw_delay();
        ++splits;
        one.split = Split{color, key, config->blocking != 0, Name(comm_name(*config)), false, made};
        poll(one);  // the other ranks need not wait until this one is asked again
    }
    if (!one.blocks) return ncclInProgress;
    const ncclResult_t result = wait_for(one);
    const bool has_one = result == ncclSuccess && *made != nullptr;
    return has_one && of(*made).blocks ? wait_for(of(*made)) : result;
}

// How often this process has called ncclCommSplit.
EXPORT int fake_nccl_splits() {
    return splits;
}

// The configuration of the communicator that this process made last; until the next.
EXPORT const char* fake_nccl_last_config() {
    const std::lock_guard lock(mutex());
    return last_config().c_str();
}

EXPORT int fake_nccl_last_priority() {
    const std::lock_guard lock(mutex());
    return last_priority();
}

EXPORT ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
    const Inside inside(of(comm));
    const std::lock_guard lock(mutex());
    *error = poll(of(comm));
    return ncclSuccess;
}

EXPORT ncclResult_t ncclCommFinalize(ncclComm_t comm) {
    Communicator& one = of(comm);
    maybe_die(one);
    {
        const std::lock_guard lock(mutex());
        if (is_in_progress(one)) report("ncclCommFinalize of a communicator that is in progress");
        if (!one.windows.empty()) report("ncclCommFinalize of a communicator that has windows");
        one.state = Communicator::Finalizing;
        ++one.shared->segment->finalized;
    }
    return one.blocks ? wait_for(one) : ncclInProgress;
}

EXPORT ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    Communicator& one = of(comm);
    if (one.shared->done != one.shared->launched) {
        report("ncclCommDestroy of a communicator that has not been flushed");
    }
    if (!one.windows.empty()) report("ncclCommDestroy of a communicator that has windows");
    let_go(&one);
    return ncclSuccess;
}

EXPORT ncclResult_t ncclCommAbort(ncclComm_t comm) {
    if (of(comm).inside > 0) report("ncclCommAbort while another thread is in a call");
    check_windows_at_abort(of(comm));
    let_go(&of(comm));
    return ncclSuccess;
}

EXPORT ncclResult_t ncclGroupStart() {
    ++group.depth;
    return ncclSuccess;
}

EXPORT ncclResult_t ncclGroupEnd() {
    if (group.depth == 0) return ncclInvalidUsage;
    return --group.depth > 0 ? ncclSuccess : end_group();
}

EXPORT ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                             ncclScalarResidence_t residence, ncclComm_t comm) {
    if (residence != ncclScalarHostImmediate) return ncclInvalidUsage;
    static int next = ncclNumOps;
    Factor factor;
    read_factor(type, scalar, factor.value, factor.whole);
    const std::lock_guard lock(mutex());
    *op = static_cast<ncclRedOp_t>(next++);
    of(comm).ops[*op] = factor;
    return ncclSuccess;
}

EXPORT ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
    const std::lock_guard lock(mutex());
    return of(comm).ops.erase(op) == 1 ? ncclSuccess : ncclInvalidArgument;
}

EXPORT ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, ncclDataType_t type,
                                  ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
    return collective(AllReduce, in, out, count, type, op, 0, comm, stream);
}

EXPORT ncclResult_t ncclBroadcast(const void* in, void* out, size_t count, ncclDataType_t type,
                                  int root, ncclComm_t comm, cudaStream_t stream) {
    return collective(Broadcast, in, out, count, type, 0, root, comm, stream);
}

EXPORT ncclResult_t ncclReduce(const void* in, void* out, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
    return collective(Reduce, in, out, count, type, op, root, comm, stream);
}

EXPORT ncclResult_t ncclAllGather(const void* in, void* out, size_t count, ncclDataType_t type,
                                  ncclComm_t comm, cudaStream_t stream) {
    return collective(AllGather, in, out, count, type, 0, 0, comm, stream);
}

EXPORT ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, ncclDataType_t type,
                                      ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
    return collective(ReduceScatter, in, out, count, type, op, 0, comm, stream);
}

#if FAKE_NCCL_VERSION >= 22803
EXPORT ncclResult_t ncclAlltoAll(const void* in, void* out, size_t count, ncclDataType_t type,
                                 ncclComm_t comm, cudaStream_t stream) {
    return collective(AllToAll, in, out, count, type, 0, 0, comm, stream);
}
#endif

EXPORT ncclResult_t ncclSend(const void* memory, size_t count, ncclDataType_t type, int peer,
                             ncclComm_t comm, cudaStream_t stream) {
    return message(true, memory, count, type, peer, comm, stream);
}

EXPORT ncclResult_t ncclRecv(void* memory, size_t count, ncclDataType_t type, int peer,
                             ncclComm_t comm, cudaStream_t stream) {
    return message(false, memory, count, type, peer, comm, stream);
}
