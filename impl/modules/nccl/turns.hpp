// The turns of communicators on a device, in the whole process: NCCL takes calls for one device
// from one communicator at a time. Any thread.
#pragma once

#include <cstdint>

namespace tutti::nccl {

// A communicator is known by its address. False: another one has the device.
bool take_device(int device, const void* communicator);
void give_device(int device, const void* communicator);

// A registration of memory that all ranks have come to. Those for one device follow each other in
// the order of their keys, which is the same on all ranks, so that no two of them wait for each
// other.
class RegistrationTurn {
public:
    RegistrationTurn(int device, uint64_t key);
    ~RegistrationTurn();
    RegistrationTurn(const RegistrationTurn&) = delete;
    RegistrationTurn& operator=(const RegistrationTurn&) = delete;
    [[nodiscard]] bool has_come() const;

private:
    const int device_;
    const uint64_t key_;
};

}  // namespace tutti::nccl
