// torch's debug level, a value of the process: OFF, INFO or DETAIL. TORCH_DISTRIBUTED_DEBUG says
// which until a call sets it. Any thread.
#pragma once

namespace tutti {

enum class DebugLevel : int { Off = 0, Info = 1, Detail = 2 };

// Off if the variable is malformed.
DebugLevel debug_level() noexcept;
void set_debug_level(DebugLevel level) noexcept;
// Whether a call has set it to something else than the environment says.
bool debug_level_is_set() noexcept;

// OFF if not set; case does not matter. INVALID_ARGUMENT naming the variable for anything else.
DebugLevel debug_level_by_environment();

}  // namespace tutti
