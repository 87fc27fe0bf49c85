#include "turns.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>

namespace tutti::nccl {

namespace {

constexpr size_t max_devices = 64;
std::array<std::atomic<const void*>, max_devices> device_owners{};

std::atomic<const void*>& owner_of(int device) {
    return device_owners[static_cast<size_t>(device) % max_devices];
}

struct Queue {
    std::mutex mutex;
    std::map<int, std::multiset<uint64_t>> keys;  // by device
};

// Never destroyed: calls may come at the very end of the process.
Queue& queue() {
    static auto* const one = new Queue;
    return *one;
}

}  // namespace

bool take_device(int device, const void* communicator) {
    const void* nobody = nullptr;
    return owner_of(device).compare_exchange_strong(nobody, communicator) || nobody == communicator;
}

void give_device(int device, const void* communicator) {
    owner_of(device).compare_exchange_strong(communicator, nullptr);
}

RegistrationTurn::RegistrationTurn(int device, uint64_t key) : device_(device), key_(key) {
    const std::lock_guard lock(queue().mutex);
    queue().keys[device].insert(key);
}

RegistrationTurn::~RegistrationTurn() {
    const std::lock_guard lock(queue().mutex);
    auto& keys = queue().keys[device_];
    keys.erase(keys.find(key_));
}

bool RegistrationTurn::has_come() const {
    const std::lock_guard lock(queue().mutex);
    return *queue().keys[device_].begin() == key_;
}

}  // namespace tutti::nccl
