// Communicators, and what is wrong with how they are used: that is reported on standard error, and
// the process aborts. One mutex guards all of them, but for what kernels touch.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernel.hpp"

namespace fake_nccl {

struct Factor {
    double value = 1;
    uint64_t whole = 1;
};

// The state that kernels keep alive.
struct Shared {
    std::shared_ptr<Segment> segment;
    int rank = 0;
    int ranks = 0;
    std::atomic<bool> is_aborted{false};
    std::atomic<uint64_t> launched{0}, done{0};  // kernels
    uint64_t pieces = 0;                         // of all collectives so far
};

// The name of a communicator: NCCL keeps the caller's pointer, and reads it to the end.
struct Name {
    explicit Name(const char* given = nullptr) : place(given), was(given != nullptr ? given : "") {}
    [[nodiscard]] bool is_as_it_was() const { return place == nullptr || place == was; }
    const char* place;
    std::string was;
};

// A split that this rank has begun.
struct Split {
    int color = 0, key = 0;
    bool blocks = true;
    Name given{};
    bool has_said = false;
    ncclComm_t* made = nullptr;
};

// Memory that is registered.
struct Window {
    char* memory = nullptr;
    size_t bytes = 0;
    size_t place = 0;       // of symmetric memory
    bool is_local = false;  // by ncclCommRegister
    bool is_symmetric = false;
    uint64_t used_until = 0;  // the number of kernels whose end is that of its last use
};

// A registration that this rank has begun.
struct Registration {
    std::unique_ptr<Window> window;
    int flags = 0;
    bool has_said = false;
    ncclWindow_t* made = nullptr;
};

struct Communicator {
    std::string name;  // of its segment
    Name given{};
    std::shared_ptr<Shared> shared;
    int device = 0;
    bool blocks = true;
    bool is_connected = false;  // had a collective
    enum State { Starting, Ready, Finalizing } state = Starting;
    int delay = 0;               // polls until what is under way is done
    std::vector<Call> deferred;  // in progress: not launched yet
    std::map<int, Factor> ops;
    std::optional<Split> split;
    uint64_t splits = 0;  // so far
    std::vector<std::unique_ptr<Window>> windows;
    std::optional<Registration> registration;
    uint64_t registrations = 0;  // so far, those of windows
    uint64_t collectives = 0;    // likewise
    std::atomic<int> inside{0};  // threads in a call
    ncclResult_t error = ncclSuccess;
};

std::mutex& mutex();
[[noreturn]] void report(const std::string& what);
// Polls until something ends; 0 if TUTTI_FAKE_NCCL_DELAYS is 0.
int draw_delay();
// Joins the communicator of that name; null if the system refuses.
Communicator* join(const std::string& name, int rank, int ranks, int device, bool blocks);
// A step of what is under way; the result of ncclCommGetAsyncError.
ncclResult_t poll(Communicator& comm);
// The calls of one group and one communicator.
ncclResult_t take(Communicator& comm, std::vector<Call> calls);
// Those that are under way, of one that goes.
void forget_calls(const Communicator& comm);
// Whether it has been told something that is not done.
bool is_in_progress(const Communicator& comm);
// Its turn on its device; reports another one's.
void take_device(const Communicator& comm);
void give_device(const Communicator& comm);

struct Driver {
    int (*launch)(void*, const char*, const fake_cuda_range*, size_t, int (*)(void*), void*);
    void* (*memory)(unsigned long long);
    int (*context_device)(int*);
    int (*is_capturing)(void*, int*);
    int (*stream_priority)(void*, int*);
    int (*alloc)(unsigned long long*, size_t);
    int (*free)(unsigned long long);
};
const Driver& driver();

}  // namespace fake_nccl
