#include "memory.hpp"

#include <map>
#include <mutex>
#include <utility>

namespace tutti::nccl {

namespace {

struct All {
    std::mutex mutex;
    std::map<void*, std::shared_ptr<Memory>> of_program;
};

// Never destroyed: programs may give memory back when they end.
All& all() {
    static auto* const one = new All;
    return *one;
}

}  // namespace

// ncclMemFree need not wait for the device, as the driver does when it frees what it has made. So
// each piece has some of that beside it.
Memory::Memory(const Library& nccl, int device, size_t bytes)
    : nccl_(nccl), device_(device), bytes_(bytes) {
    const cuda::InContext context(nccl.driver(), device);
    nccl.check(nccl.mem_alloc(&address_, bytes), "ncclMemAlloc");
    if (nccl.driver().alloc(&idle_mark_, 1) != cuda::Result::Success) {
        nccl.mem_free(address_);
        throw Failure{TUTTI_ERR_OUT_OF_MEMORY, 0, "the device has no more memory"};
    }
}

Memory::~Memory() {
    try {
        const cuda::InContext context(nccl_.driver(), device_);
        nccl_.driver().free(idle_mark_);
        nccl_.mem_free(address_);
    } catch (const Failure&) {  // the device is lost
    }
}

void* Memory::make(const Library& nccl, int device, size_t bytes) {
    const std::shared_ptr<Memory> made(new Memory(nccl, device, bytes));
    const std::lock_guard lock(all().mutex);
    all().of_program.insert_or_assign(made->address(), made);
    return made->address();
}

std::shared_ptr<Memory> Memory::find(void* address) {
    const std::lock_guard lock(all().mutex);
    const auto found = all().of_program.find(address);
    return found == all().of_program.end() ? nullptr : found->second;
}

void Memory::give_back(void* address) noexcept {
    std::shared_ptr<Memory> last;  // ends without the lock
    const std::lock_guard lock(all().mutex);
    const auto found = all().of_program.find(address);
    if (found == all().of_program.end()) return;
    last = std::move(found->second);
    all().of_program.erase(found);
    last->is_given_back_ = true;
}

}  // namespace tutti::nccl
