// tutti/debug.h. Any thread.
#include "tutti/debug.h"

#include <memory>
#include <optional>

#include "arguments.hpp"
#include "base/debug_level.hpp"
#include "base/debugger.hpp"
#include "base/settings.hpp"
#include "call_options.hpp"
#include "group.hpp"
#include "group/breakpoint.hpp"
#include "group/group.hpp"
#include "guard.hpp"
#include "object.hpp"
#include "object/builder.hpp"

namespace capi = tutti::capi;

static_assert(static_cast<int>(tutti::DebugLevel::Off) == TUTTI_DEBUG_OFF);
static_assert(static_cast<int>(tutti::DebugLevel::Info) == TUTTI_DEBUG_INFO);
static_assert(static_cast<int>(tutti::DebugLevel::Detail) == TUTTI_DEBUG_DETAIL);

namespace {

void put(tutti::Builder& builder, const char* key, const std::string& value) {
    builder.copied_string(key);
    builder.copied_string(value);
}

std::shared_ptr<const tutti::Object> settings_object() {
    tutti::Builder builder;
    builder.map();
    for (const tutti::Setting& one : tutti::all_settings()) {
        builder.copied_string(one.name);
        builder.map();
        put(builder, "value", one.value);
        put(builder, "source", tutti::source_name(one.source));
        if (one.source == tutti::SettingSource::Unknown) {
            put(builder, "nearest", one.nearest);
        } else {
            put(builder, "default", one.usual);
        }
        if (!one.variable.empty()) put(builder, "variable", one.variable);
        builder.close();
    }
    builder.close();
    return builder.finish();
}

}  // namespace

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

tutti_status tutti_get_settings(tutti_object** out_settings, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        capi::need_output(out_settings, "out_settings");
        *out_settings = capi::hand_out_object(settings_object());
    });
}

// The stop is here, so that the caller's frame is next to it.
tutti_status tutti_breakpoint(tutti_group* group, int32_t group_rank,
                              const tutti_call_options* options, tutti_error* error) {
    std::optional<capi::GroupPin> pin;
    std::unique_ptr<tutti::Breakpoint> breakpoint;
    bool stops = false;
    const tutti_status status = capi::guard(__func__, error, [&] {
        pin.emplace(capi::need_group(group));
        const tutti_call_options given = capi::read_call_options(options, false);
        capi::refuse_stream(given);
        breakpoint = (*pin)->breakpoint(group_rank);
        stops = breakpoint->meet(given.timeout_ms);
    });
    if (status != TUTTI_OK) return status;
    if (stops) tutti::stop_in_debugger();
    return capi::guard(__func__, error, [&] { breakpoint->leave(); });
}

}  // extern "C"
