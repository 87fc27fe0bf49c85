// Failures that the environment asks for: cuMemcpyAsync:3:700,cuMemAlloc_v2:1:2 makes the third
// copy fail with error 700, and the first allocation with error 2.
#pragma once

#include "functions.hpp"

namespace tutti::cuda {

// The failure of this call, if it shall have one. One that ruins the context stays.
Result injected_failure(const char* name);

}  // namespace tutti::cuda
