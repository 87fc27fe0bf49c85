// Devices by the numbers of tutti_device_type. Any thread.
#pragma once

#include <cstdint>
#include "argument.hpp"
#include "tutti/types.h"

namespace tutti {

// "cuda"; null if no device type has that number.
const char* device_type_name(tutti_device_type type);

// Throw INVALID_ARGUMENT for what is no device, UNSUPPORTED for one that tutti does not know how to
// use; both name the argument. Whether there is such a device here the driver says.
void check_device_type(tutti_device_type type, const Argument& argument);
void check_device(tutti_device_type type, int32_t index, const Argument& owner);

}  // namespace tutti
