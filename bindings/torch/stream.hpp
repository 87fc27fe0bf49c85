// The stream of PyTorch's on which the caller works.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "compat.hpp"

namespace tutti_torch {

// As the device's driver has it; nullptr: the CPU, or the default stream.
inline void* current_stream(const at::Device& device) {
    if (device.is_cpu()) return nullptr;
    const c10::impl::VirtualGuardImpl guard(device.type());
    return compat::native_handle(guard.getStream(device));
}

}  // namespace tutti_torch
