// A backend for tests, against the internal interface alone: its collectives end later, and it can
// do some of them only. Ranks are threads of one process. "null" ends them on a thread of its own,
// "null_polled" when it is asked.
#pragma once

#include "backend/backend.hpp"

namespace tutti::test {

// A type of device beside the CPU, whose memory is the CPU's.
constexpr tutti_device_type null_device = 1;

// Once; afterwards groups can name them.
void register_null_backends();

// What they can do.
Capabilities null_capabilities(Completion completion);

}  // namespace tutti::test
