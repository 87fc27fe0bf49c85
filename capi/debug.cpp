// tutti/debug.h. Any thread.
#include "tutti/debug.h"

#include "base/debug_level.hpp"
#include "guard.hpp"

namespace capi = tutti::capi;

static_assert(static_cast<int>(tutti::DebugLevel::Off) == TUTTI_DEBUG_OFF);
static_assert(static_cast<int>(tutti::DebugLevel::Info) == TUTTI_DEBUG_INFO);
static_assert(static_cast<int>(tutti::DebugLevel::Detail) == TUTTI_DEBUG_DETAIL);

extern "C" {

tutti_status tutti_set_debug_level(tutti_debug_level level, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        if (level > TUTTI_DEBUG_DETAIL) {
            capi::refuse("level is ", level, "; it must be TUTTI_DEBUG_OFF (0), TUTTI_DEBUG_INFO ",
                         "(1) or TUTTI_DEBUG_DETAIL (2)");
        }
        tutti::set_debug_level(static_cast<tutti::DebugLevel>(level));
    });
}

tutti_status tutti_set_debug_level_from_env(tutti_error* error) {
    return capi::guard(__func__, error,
                       [] { tutti::set_debug_level(tutti::debug_level_by_environment()); });
}

tutti_debug_level tutti_get_debug_level(void) {
    return static_cast<tutti_debug_level>(tutti::debug_level());
}

}  // extern "C"
