// A table over all descriptor numbers, in chunks that are made when needed and stay. Any thread;
// atomics only, because a child of fork must not wait for a lock.
#include "open_descriptors.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <new>
#include <utility>

namespace tutti {

namespace {

constexpr int chunk_size = 1'024;
constexpr int chunk_count = 1'024;  // a million descriptors; what is beyond is not noted

// Identifies the file behind a descriptor; no file has inode 0.
struct Entry {
    std::atomic<uint64_t> device{0};
    std::atomic<uint64_t> inode{0};
};
using Chunk = std::array<Entry, chunk_size>;

constinit std::array<std::atomic<Chunk*>, chunk_count> chunks{};
constinit std::atomic<int> highest{-1};
constinit Mutex gate;
// Both belong to the gate.
constinit int holders = 0;
constinit std::array<bool, 3> is_taken{};

// nullptr if there is no chunk, and none is to be made or none can be.
Entry* find(int descriptor, bool make) noexcept {
    if (descriptor < 0 || descriptor >= chunk_size * chunk_count) return nullptr;
    std::atomic<Chunk*>& place = chunks[static_cast<size_t>(descriptor / chunk_size)];
    Chunk* chunk = place.load(std::memory_order_acquire);
    if (chunk == nullptr && make) {
        auto* made = new (std::nothrow) Chunk;
        if (made == nullptr) return nullptr;
        if (place.compare_exchange_strong(chunk, made, std::memory_order_acq_rel)) {
            chunk = made;
        } else {
            delete made;
        }
    }
    if (chunk == nullptr) return nullptr;
    return &(*chunk)[static_cast<size_t>(descriptor % chunk_size)];
}

bool all_standard_are_open() {
    for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
        if (::fcntl(number, F_GETFD) < 0) return false;
    }
    return true;
}

// Unless the program has put a file of its own there meanwhile.
void give_back(int number) {
    if (Entry* entry = find(number, false); entry != nullptr) {
        entry->inode.store(0, std::memory_order_release);
    }
    const int flags = ::fcntl(number, F_GETFL);
    if (flags >= 0 && (flags & O_PATH) != 0) ::close(number);
}

void hold_standard() {
    ++holders;
    while (!all_standard_are_open()) {
        // "/" can always be opened so, and a read or write fails as if it were closed.
        const int number = ::open("/", O_PATH | O_CLOEXEC);
        if (number > STDERR_FILENO) ::close(number);  // the program has opened the last one
        if (number < 0 || number > STDERR_FILENO) return;
        track_open(number);
        is_taken[static_cast<size_t>(number)] = true;
    }
}

void leave_standard() {
    if (--holders > 0) return;
    for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
        if (std::exchange(is_taken[static_cast<size_t>(number)], false)) give_back(number);
    }
}

}  // namespace

void track_open(int descriptor) noexcept {
    struct stat status = {};
    if (descriptor < 0 || ::fstat(descriptor, &status) != 0) return;
    Entry* entry = find(descriptor, true);
    if (entry == nullptr) return;
    entry->device.store(status.st_dev, std::memory_order_relaxed);
    entry->inode.store(status.st_ino, std::memory_order_release);
    int known = highest.load(std::memory_order_relaxed);
    while (known < descriptor && !highest.compare_exchange_weak(known, descriptor)) {
    }
}

void close_tracked(int descriptor) noexcept {
    const Lock lock(gate);
    if (Entry* entry = find(descriptor, false); entry != nullptr) {
        entry->inode.store(0, std::memory_order_release);
    }
    ::close(descriptor);
}

StandardPlaceholders::StandardPlaceholders() noexcept {
    const Lock lock(gate);
    hold_standard();
}

StandardPlaceholders::~StandardPlaceholders() {
    const int number = errno;
    {
        const Lock lock(gate);
        leave_standard();
    }
    errno = number;
}

Opening::Opening() noexcept : lock_(gate.native()) {
    hold_standard();
}

Opening::~Opening() {
    const int number = errno;
    leave_standard();
    errno = number;
}

int above_standard(int descriptor) noexcept {
    if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
    const int other = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int number = errno;
    ::close(descriptor);
    errno = number;
    return other;
}

void before_fork() noexcept TUTTI_NO_THREAD_SAFETY_ANALYSIS {
    gate.lock();
}

void after_fork() noexcept TUTTI_NO_THREAD_SAFETY_ANALYSIS {
    gate.unlock();
}

void close_in_forked_child() noexcept {
    holders = 0;
    is_taken = {};
    const int last = highest.load(std::memory_order_relaxed);
    for (int descriptor = 0; descriptor <= last; ++descriptor) {
        Entry* entry = find(descriptor, false);
        if (entry == nullptr) {
            descriptor |= chunk_size - 1;  // on to the next chunk
            continue;
        }
        const uint64_t inode = entry->inode.exchange(0, std::memory_order_acquire);
        struct stat status = {};
        if (inode == 0 || ::fstat(descriptor, &status) != 0) continue;
        const bool same = status.st_ino == inode &&
                          status.st_dev == entry->device.load(std::memory_order_relaxed);
        if (same) ::close(descriptor);
    }
}

}  // namespace tutti
