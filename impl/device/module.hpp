// Finding the module of a kind of device. Any thread.
#pragma once

#include "table.h"

namespace tutti::device {

// libtutti-cuda.so: where TUTTI_CUDA_MODULE says, else beside this library or in the folder tutti
// there, else where the system looks for libraries. Throws UNSUPPORTED, with the reason.
const tutti_device_table& find_module(tutti_device_type type);

}  // namespace tutti::device
