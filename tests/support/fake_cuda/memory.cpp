// The allocations of the process, by address.
#include "memory.hpp"

#include "model.hpp"
#include "report.hpp"

#include <sys/mman.h>
#include <unistd.h>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>

namespace tutti::cuda {

// Freed allocations whose addresses are still known; and how much of new memory is made nonsense.
constexpr size_t graves = 256;
constexpr size_t nonsense_bytes = size_t{64} << 10;

namespace {

struct Allocations {
    std::map<uint64_t, std::shared_ptr<Allocation>> by_address;
    std::deque<std::shared_ptr<Allocation>> freed;
    std::map<int, size_t> used;  // by device
    size_t count = 0;
};

Allocations& all() {
    static auto* const allocations = new Allocations;
    return *allocations;
}

}  // namespace

static size_t whole_pages(size_t bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

static char* map(size_t bytes, int protection, int flags, int file) {
    void* address = mmap(nullptr, bytes, protection, flags, file, 0);
    return address == MAP_FAILED ? nullptr : static_cast<char*>(address);
}

Allocation::~Allocation() {
    if (real != nullptr) munmap(real, mapped);
    if (program != nullptr) munmap(program, mapped);
}

std::string describe(const Allocation& allocation) {
    char text[described];
    describe(allocation, text);
    return text;
}

void describe(const Allocation& allocation, char (&text)[described]) {
    if (allocation.pinned)
        std::snprintf(text, sizeof text, "pinned memory %zu with %zu bytes", allocation.number,
                      allocation.bytes);
    else
        std::snprintf(text, sizeof text, "device memory %zu (of device %d) with %zu bytes",
                      allocation.number, allocation.device, allocation.bytes);
}

static bool map_twice(Allocation& allocation) {
    const int file = memfd_create("fake_cuda", MFD_CLOEXEC);
    if (file < 0) return false;
    if (ftruncate(file, static_cast<off_t>(allocation.mapped)) == 0) {
        const int access = PROT_READ | PROT_WRITE;
        allocation.real = map(allocation.mapped, access, MAP_SHARED, file);
        allocation.program =
            map(allocation.mapped, allocation.pinned ? access : PROT_NONE, MAP_SHARED, file);
    }
    close(file);
    return allocation.real != nullptr && allocation.program != nullptr;
}

// The addresses stay taken, without memory.
static void empty(char* mapping, size_t bytes, int protection) {
    mmap(mapping, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
         0);
}

std::shared_ptr<Allocation> allocate(ContextObject& context, bool pinned, size_t bytes) {
    size_t& used = all().used[context.device];
    if (!pinned && bytes > settings().bytes - used) return nullptr;
    auto made = std::make_shared<Allocation>();
    made->pinned = pinned;
    made->context = &context;
    made->device = context.device;
    made->bytes = bytes;
    made->mapped = whole_pages(bytes);
    if (made->mapped < bytes || !map_twice(*made)) return nullptr;
    made->number = ++all().count;
    std::memset(made->real, 0xa5, std::min(bytes, nonsense_bytes));
    if (!pinned) used += bytes;
    all().by_address[reinterpret_cast<uint64_t>(made->program)] = made;
    return made;
}

void release(const std::shared_ptr<Allocation>& allocation) {
    allocation->alive = false;
    allocation->pins.clear();
    if (!allocation->pinned) all().used[allocation->device] -= allocation->bytes;
    empty(allocation->real, allocation->mapped, PROT_READ | PROT_WRITE);
    empty(allocation->program, allocation->mapped, PROT_NONE);
    all().freed.push_back(allocation);
    if (all().freed.size() <= graves) return;
    all().by_address.erase(reinterpret_cast<uint64_t>(all().freed.front()->program));
    all().freed.pop_front();
}

std::shared_ptr<Allocation> allocation_at(uint64_t address) {
    auto after = all().by_address.upper_bound(address);
    if (after == all().by_address.begin()) return nullptr;
    const std::shared_ptr<Allocation>& before = std::prev(after)->second;
    const uint64_t start = reinterpret_cast<uint64_t>(before->program);
    return address - start < before->mapped ? before : nullptr;
}

std::vector<std::shared_ptr<Allocation>> allocations_alive() {
    std::vector<std::shared_ptr<Allocation>> alive;
    for (const auto& [address, allocation] : all().by_address)
        if (allocation->alive) alive.push_back(allocation);
    return alive;
}

size_t bytes_used(int device) {
    return all().used[device];
}

}  // namespace tutti::cuda
