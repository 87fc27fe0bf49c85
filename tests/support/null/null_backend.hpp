// Backends for tests, against the internal interface alone, which can do some collectives only and
// no messages. Ranks are threads of one process.
//   null         ends its collectives on a thread of its own
//   null_polled  ends them when it is asked
//   null_inline  ends them when the call returns; gathers none
//   null_wrong   as null_inline, but fails all_reduces of int8 and gives wrong results for float16
#pragma once

#include "backend/backend.hpp"

namespace tutti::test {

// A type of device beside the CPU, whose memory is the CPU's.
constexpr tutti_device_type null_device = 1;

// Once; afterwards groups can name them.
void register_null_backends();

// From here on, ranks of this thread have a null_inline that cannot reduce, as if their build were
// an older one.
void use_older_null_inline();

// What they can do.
Capabilities null_capabilities(Completion completion);

}  // namespace tutti::test
