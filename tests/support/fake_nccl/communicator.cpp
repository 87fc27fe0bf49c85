#include "communicator.hpp"

#include "windows.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

namespace fake_nccl {

namespace {

// For each device, the communicator whose calls are under way.
std::map<int, const Communicator*>& issuing() {
    static auto* const all = new std::map<int, const Communicator*>;
    return *all;
}

const char* setting(const char* name, const char* otherwise) {
    const char* const given = std::getenv(name);
    return given != nullptr ? given : otherwise;
}

bool has_dead(const Shared& of) {
    for (int rank = 0; rank < of.ranks; ++rank) {
        const int pid = of.segment->pid[rank];
        if (pid != 0 && kill(pid, 0) != 0 && errno == ESRCH) return true;
    }
    return false;
}

ncclResult_t poll_start(Communicator& comm) {
    const Shared& of = *comm.shared;
    if (of.segment->attached < of.ranks) return ncclInProgress;
    if (comm.delay-- > 0) return ncclInProgress;
    for (int one = 0; one < of.ranks; ++one) {
        for (int other = 0; other < one; ++other) {
            if (of.segment->device[one] == of.segment->device[other]) {
                return comm.error = ncclInvalidUsage;  // "Duplicate GPU detected"
            }
        }
    }
    forget(comm.name);
    comm.state = Communicator::Ready;
    return ncclSuccess;
}

// The new communicator, once all ranks have said their parts.
Communicator* make_part(const Communicator& comm, const Split& split) {
    const Segment& segment = *comm.shared->segment;
    int rank = 0, ranks = 0;
    for (int other = 0; other < comm.shared->ranks; ++other) {
        const Part& part = segment.parts[other];
        if (part.color != split.color) continue;
        ++ranks;
        const bool is_before =
            part.key < split.key || (part.key == split.key && other < comm.shared->rank);
        if (is_before) ++rank;
    }
    const std::string name =
        comm.name + "_" + std::to_string(comm.splits) + "_" + std::to_string(split.color);
    Communicator* const made = join(name, rank, ranks, comm.device, split.blocks);
    if (made != nullptr) made->given = split.given;
    return made;
}

// Ranks say their parts when all have heard those of the split before.
ncclResult_t poll_split(Communicator& comm) {
    Split& split = *comm.split;
    Segment& segment = *comm.shared->segment;
    const auto all = [&](std::atomic<uint64_t> Part::*of, uint64_t number) {
        return std::all_of(segment.parts, segment.parts + comm.shared->ranks,
                           [&](const Part& part) { return part.*of >= number; });
    };
    Part& mine = segment.parts[comm.shared->rank];
    if (!split.has_said) {
        if (!all(&Part::heard, comm.splits)) return ncclInProgress;
        mine.color = split.color;
        mine.key = split.key;
        mine.said = comm.splits + 1;
        split.has_said = true;
    }
    if (!all(&Part::said, comm.splits + 1) || comm.delay-- > 0) return ncclInProgress;
    if (split.color != NCCL_SPLIT_NOCOLOR) {
        Communicator* const made = make_part(comm, split);
        if (made == nullptr) return comm.error = ncclSystemError;
        *split.made = reinterpret_cast<ncclComm_t>(made);
    }
    mine.heard = ++comm.splits;
    comm.split.reset();
    return ncclSuccess;
}

ncclResult_t launch_deferred(Communicator& comm) {
    const int result = launch(comm, std::exchange(comm.deferred, {}));
    give_device(comm);
    return result == 0 ? ncclSuccess : comm.error = ncclUnhandledCudaError;
}

}  // namespace

std::mutex& mutex() {
    static std::mutex one;  // there from the start: the thread sanitizer sees no making of it here
    return one;
}

void report(const std::string& what) {
    std::fprintf(stderr, "fake_nccl: %s\n", what.c_str());
    std::abort();
}

int draw_delay() {
    static const unsigned seed =
        static_cast<unsigned>(std::atoi(setting("TUTTI_FAKE_NCCL_DELAYS", "1")));
    static auto* const random = new std::minstd_rand(seed);
    return seed == 0 ? 0 : static_cast<int>((*random)() % 4);
}

Communicator* join(const std::string& name, int rank, int ranks, int device, bool blocks) {
    auto comm = std::make_unique<Communicator>();
    comm->name = name;
    comm->shared = std::make_shared<Shared>();
    comm->shared->segment = attach(name);
    comm->shared->rank = rank;
    comm->shared->ranks = ranks;
    comm->blocks = blocks;
    comm->delay = blocks ? 0 : draw_delay();
    comm->device = device;
    if (comm->shared->segment == nullptr) return nullptr;
    Segment& segment = *comm->shared->segment;
    segment.pid[rank] = static_cast<int>(getpid());
    segment.device[rank] = comm->device;
    ++segment.attached;
    return comm.release();
}

ncclResult_t poll(Communicator& comm) {
    if (comm.error != ncclSuccess) return comm.error;
    const Shared& of = *comm.shared;
    if (comm.state == Communicator::Starting) return poll_start(comm);
    static const bool tells_death =
        std::strcmp(setting("TUTTI_FAKE_NCCL_DEATH", "silent"), "error") == 0;
    if (tells_death && has_dead(of)) return comm.error = ncclRemoteError;
    if (comm.state == Communicator::Finalizing) {
        const bool is_over = of.segment->finalized >= of.ranks && of.done == of.launched;
        return is_over ? ncclSuccess : ncclInProgress;
    }
    if (comm.split) return poll_split(comm);
    if (comm.registration) return poll_registration(comm);
    if (comm.deferred.empty()) return ncclSuccess;
    return comm.delay-- > 0 ? ncclInProgress : launch_deferred(comm);
}

bool is_in_progress(const Communicator& comm) {
    return comm.state != Communicator::Ready || !comm.deferred.empty() || comm.split ||
           comm.registration;
}

void take_device(const Communicator& comm) {
    const auto [other, is_first] = issuing().emplace(comm.device, &comm);
    if (!is_first) report("calls for one device on two communicators at the same time");
}

void give_device(const Communicator& comm) {
    issuing().erase(comm.device);
}

void forget_calls(const Communicator& comm) {
    const std::lock_guard lock(mutex());
    const auto found = issuing().find(comm.device);
    if (found != issuing().end() && found->second == &comm) issuing().erase(found);
}

ncclResult_t take(Communicator& comm, std::vector<Call> calls) {
    if (comm.error != ncclSuccess) return comm.error;
    if (is_in_progress(comm)) report("a call on a communicator that is in progress");
    take_device(comm);
    for (const Call& call : calls) comm.collectives += call.is_message ? 0 : 1;
    comm.deferred = std::move(calls);
    comm.delay = comm.blocks ? 0 : draw_delay();
    return comm.delay > 0 ? ncclInProgress : launch_deferred(comm);
}

const Driver& driver() {
    static const Driver* const found = [] {
        void* const library =
            dlopen(setting("TUTTI_CUDA_LIBRARY", "libcuda.so.1"), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) report("no double of the driver");
        auto* const made = new Driver;
        const auto find = [&](const char* symbol, auto& place) {
            void* const address = dlsym(library, symbol);
            if (address == nullptr) report(std::string("the driver has no ") + symbol);
            place = reinterpret_cast<std::remove_reference_t<decltype(place)>>(address);
        };
        find("fake_cuda_launch", made->launch);
        find("fake_cuda_memory", made->memory);
        find("cuCtxGetDevice", made->context_device);
        find("cuStreamIsCapturing", made->is_capturing);
        find("cuStreamGetPriority", made->stream_priority);
        find("cuMemAlloc_v2", made->alloc);
        find("cuMemFree_v2", made->free);
        return made;
    }();
    return *found;
}

}  // namespace fake_nccl
