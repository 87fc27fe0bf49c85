#include "windows.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>
#include <utility>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace fake_nccl {

namespace {

struct Memory {
    std::map<char*, size_t> all;  // bytes of each piece
    std::set<std::pair<const Communicator*, const Window*>> windows;
    int made = 0;  // windows so far
};

Memory& memory() {
    static auto* const one = new Memory;
    return *one;
}

bool is_set(const char* name) {
    const char* const given = std::getenv(name);
    return given != nullptr && *given != '\0' && std::strcmp(given, "0") != 0;
}

bool overlap(const Window& window, const char* begin, size_t bytes) {
    return begin < window.memory + window.bytes && window.memory < begin + bytes;
}

// The first place where nothing is: the same on all ranks if they have come and gone in one order.
[[maybe_unused]] size_t free_place(const Communicator& comm, size_t bytes) {
    std::map<size_t, size_t> taken;
    for (const auto& window : comm.windows) {
        if (window->is_symmetric) taken.emplace(window->place, window->bytes);
    }
    size_t place = 1;
    for (const auto& [begin, length] : taken) {
        if (place + bytes <= begin) break;
        place = std::max(place, begin + length);
    }
    return place;
}

void check_alike(const Communicator& comm) {
    const Entry* const entries = comm.shared->segment->entries;
    const Entry& mine = entries[comm.shared->rank];
    for (int rank = 0; rank < comm.shared->ranks; ++rank) {
        const Entry& other = entries[rank];
        if (other.flags != mine.flags) report("ranks register windows of different kinds");
        if (other.bytes != mine.bytes) report("ranks register windows of different sizes");
        if (other.collectives != mine.collectives) {
            report("ranks register a window in different places among their calls");
        }
        if (other.place != mine.place) {
            report("ranks have deregistered different windows before they register one");
        }
    }
}

Window* add(Communicator& comm, std::unique_ptr<Window> window) {
    ++memory().made;
    memory().windows.emplace(&comm, window.get());
    return comm.windows.emplace_back(std::move(window)).get();
}

[[maybe_unused]] std::unique_ptr<Window> window_of(void* buffer, size_t bytes) {
    auto window = std::make_unique<Window>();
    window->memory = static_cast<char*>(buffer);
    window->bytes = bytes;
    return window;
}

// Whether NCCL has made this memory, and it is there.
[[maybe_unused]] bool is_ours(const char* place, size_t bytes) {
    const auto after = memory().all.upper_bound(const_cast<char*>(place));
    if (after == memory().all.begin()) return false;
    const auto& [begin, length] = *std::prev(after);
    return static_cast<size_t>(place - begin) + bytes <= length;
}

[[maybe_unused]] ncclResult_t remove(Communicator& comm, const void* handle, bool is_local) {
    if (is_in_progress(comm)) report("a deregistration while the communicator is in progress");
    const auto found = std::find_if(comm.windows.begin(), comm.windows.end(),
                                    [&](const auto& one) { return one.get() == handle; });
    if (found == comm.windows.end()) report("a deregistration of what is not registered");
    Window& window = **found;
    if (window.is_local != is_local) report("a deregistration by the function of another kind");
    if (comm.shared->done < window.used_until) {
        report("a window is deregistered, and a call that uses it is under way");
    }
    take_device(comm);
    give_device(comm);
    memory().windows.erase({&comm, &window});
    comm.windows.erase(found);
    return ncclSuccess;
}

}  // namespace

// As in a split: ranks say their part when all have heard the one before.
ncclResult_t poll_registration(Communicator& comm) {
    Registration& one = *comm.registration;
    Segment& segment = *comm.shared->segment;
    const auto all = [&](std::atomic<uint64_t> Entry::*of, uint64_t number) {
        return std::all_of(segment.entries, segment.entries + comm.shared->ranks,
                           [&](const Entry& entry) { return entry.*of >= number; });
    };
    Entry& mine = segment.entries[comm.shared->rank];
    if (!one.has_said) {
        if (!all(&Entry::heard, comm.registrations)) return ncclInProgress;
        mine.bytes = one.window->bytes;
        mine.place = one.window->place;
        mine.collectives = comm.collectives;
        mine.flags = one.flags;
        mine.said = comm.registrations + 1;
        one.has_said = true;
    }
    if (!all(&Entry::said, comm.registrations + 1) || comm.delay-- > 0) return ncclInProgress;
    check_alike(comm);
    mine.heard = ++comm.registrations;
    give_device(comm);
    if (is_set("TUTTI_FAKE_NCCL_WINDOW_FAILS")) return comm.error = ncclSystemError;
    ncclWindow_t* const made = one.made;
    *made = reinterpret_cast<ncclWindow_t>(add(comm, std::move(one.window)));
    comm.registration.reset();
    return ncclSuccess;
}

void note_use(Communicator& comm, const char* begin, size_t bytes) {
    for (const auto& window : comm.windows) {
        if (overlap(*window, begin, bytes)) window->used_until = comm.shared->launched;
    }
}

// Kernels for symmetric memory are taken where input and output are in such windows.
void find_places(const Communicator& comm, Collective& call) {
    const std::lock_guard lock(mutex());
    const auto place_of = [&](unsigned long long address) -> size_t {
        const auto* const place = reinterpret_cast<const char*>(address);
        for (const auto& window : comm.windows) {
            if (window->is_symmetric && overlap(*window, place, 1)) {
                return window->place + static_cast<size_t>(place - window->memory);
            }
        }
        return 0;
    };
    Shape& shape = call.shape;
    const bool has_kernel =
        shape.kind == AllReduce || shape.kind == AllGather || shape.kind == ReduceScatter;
    const size_t in = place_of(call.in), out = place_of(call.out);
    if (!has_kernel || in == 0 || out == 0) return;
    if (shape.kind != AllGather) shape.in_place = in;
    if (shape.kind != ReduceScatter) shape.out_place = out;
}

void check_windows_at_abort(const Communicator& comm) {
    const std::lock_guard lock(mutex());
    const bool is_idle = comm.shared->done == comm.shared->launched && comm.deferred.empty() &&
                         !comm.registration && comm.error == ncclSuccess;
    if (is_idle && !comm.windows.empty() && is_set("TUTTI_FAKE_NCCL_STRICT_ABORT")) {
        report("ncclCommAbort of a communicator that has windows, and no calls");
    }
}

void forget_windows(Communicator& comm) {
    const std::lock_guard lock(mutex());
    for (const auto& window : comm.windows) memory().windows.erase({&comm, window.get()});
}

}  // namespace fake_nccl

using namespace fake_nccl;

namespace {

[[maybe_unused]] Communicator& of(ncclComm_t comm) {
    if (comm == nullptr) report("a call on no communicator");
    return *reinterpret_cast<Communicator*>(comm);
}

}  // namespace

// How many windows this process has, and how many it has made.
EXPORT int fake_nccl_windows() {
    const std::lock_guard lock(mutex());
    return static_cast<int>(memory().windows.size());
}

EXPORT int fake_nccl_windows_made() {
    const std::lock_guard lock(mutex());
    return memory().made;
}

// How many pieces of NCCL's memory this process has.
EXPORT int fake_nccl_pieces() {
    const std::lock_guard lock(mutex());
    return static_cast<int>(memory().all.size());
}

#if FAKE_NCCL_VERSION > 21900

EXPORT ncclResult_t ncclMemAlloc(void** made, size_t bytes) {
    *made = nullptr;
    if (bytes == 0 || is_set("TUTTI_FAKE_NCCL_ALLOC_FAILS")) return ncclUnhandledCudaError;
    unsigned long long address = 0;
    if (driver().alloc(&address, bytes) != 0) return ncclUnhandledCudaError;
    *made = reinterpret_cast<void*>(address);
    const std::lock_guard lock(mutex());
    memory().all.emplace(static_cast<char*>(*made), bytes);
    return ncclSuccess;
}

EXPORT ncclResult_t ncclMemFree(void* given) {
    auto* const begin = static_cast<char*>(given);
    {
        const std::lock_guard lock(mutex());
        const auto found = memory().all.find(begin);
        if (found == memory().all.end()) report("ncclMemFree of what ncclMemAlloc has not made");
        for (const auto& [comm, window] : memory().windows) {
            if (overlap(*window, begin, found->second)) {
                report("ncclMemFree of memory that is registered");
            }
        }
        memory().all.erase(found);
    }
    const int result = driver().free(reinterpret_cast<unsigned long long>(given));
    return result == 0 ? ncclSuccess : ncclUnhandledCudaError;
}

EXPORT ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buffer, size_t bytes,
                                     void** handle) {
    const std::lock_guard lock(mutex());
    if (is_in_progress(of(comm))) report("a registration while the communicator is in progress");
    if (!is_ours(static_cast<char*>(buffer), bytes)) report("a registration of freed memory");
    auto window = window_of(buffer, bytes);
    window->is_local = true;
    *handle = add(of(comm), std::move(window));
    return ncclSuccess;
}

EXPORT ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
    const std::lock_guard lock(mutex());
    return remove(of(comm), handle, true);
}

#endif

#if FAKE_NCCL_VERSION >= 22700

EXPORT ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buffer, size_t bytes,
                                           ncclWindow_t* made, int flags) {
    Communicator& one = of(comm);
    *made = nullptr;
    std::shared_ptr<Shared> shared;
    {
        const std::lock_guard lock(mutex());
        if (is_in_progress(one)) report("a registration while the communicator is in progress");
        if (!is_ours(static_cast<char*>(buffer), bytes)) report("a registration of freed memory");
        take_device(one);
        auto window = window_of(buffer, bytes);
        window->is_symmetric = (flags & NCCL_WIN_COLL_SYMMETRIC) != 0;
        window->place = window->is_symmetric ? free_place(one, bytes) : 0;
        one.registration = Registration{std::move(window), flags, false, made};
        one.delay = one.blocks ? 0 : draw_delay();
        shared = one.shared;
        poll(one);  // the other ranks need not wait until this one is asked again
    }
    if (!one.blocks) return ncclInProgress;
    for (;; std::this_thread::sleep_for(std::chrono::microseconds(100))) {
        const std::lock_guard lock(mutex());
        if (shared->is_aborted) return ncclInternalError;  // and `one` is gone
        const ncclResult_t result = poll(one);
        if (result != ncclInProgress) return result;
    }
}

EXPORT ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
    const std::lock_guard lock(mutex());
    return window == nullptr ? ncclSuccess : remove(of(comm), window, false);
}

#endif
