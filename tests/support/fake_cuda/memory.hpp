// Memory of devices and pinned memory of the host. Each allocation is mapped twice: the program has
// one address, the device, which is this library, the other one. Needs the model's mutex.
#pragma once

#include "clocks.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tutti::cuda {

struct ContextObject;

struct Allocation {
    Allocation() = default;
    Allocation(const Allocation&) = delete;
    Allocation& operator=(const Allocation&) = delete;
    ~Allocation();

    bool pinned = false;
    bool alive = true;
    size_t number = 0;
    ContextObject* context = nullptr;
    int device = 0;
    size_t bytes = 0;
    size_t mapped = 0;        // whole pages
    char* program = nullptr;  // as the program knows it
    char* real = nullptr;     // as the device does
    size_t enqueued = 0;      // operations that touch it and are not done
    History history;
    std::vector<Extent> pins;  // of operations that the host has not seen the end of
};

// "device memory 3 (of device 0) with 1024 bytes"; the second one allocates nothing.
constexpr size_t described = 128;
std::string describe(const Allocation& allocation);
void describe(const Allocation& allocation, char (&text)[described]);

// Null if the device has no more memory, or the system.
std::shared_ptr<Allocation> allocate(ContextObject& context, bool pinned, size_t bytes);
// The program has freed it. Its addresses stay invalid for a long while.
void release(const std::shared_ptr<Allocation>& allocation);
// The allocation that has this address, which may have been freed lately; null: memory of others.
std::shared_ptr<Allocation> allocation_at(uint64_t address);
std::vector<std::shared_ptr<Allocation>> allocations_alive();
size_t bytes_used(int device);

// From now on, and until it is unpinned, the host may not touch (or, if the device only reads, not
// write) these bytes of pinned memory.
void pin(Allocation& allocation, const Extent& extent);
void unpin(Allocation& allocation, const Extent& extent);
// Protects the pages again of which somebody touched bytes that are not in use.
void protect_again();

// From now on a CPU that touches what is the device's is reported by name.
void watch_faults();

}  // namespace tutti::cuda
