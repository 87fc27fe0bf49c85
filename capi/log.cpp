// tutti/log.h. Any thread.
#include "tutti/log.h"

#include "base/log.hpp"
#include "guard.hpp"
#include "user.hpp"

namespace capi = tutti::capi;

static_assert(static_cast<int>(tutti::LogLevel::Off) == TUTTI_LOG_OFF);
static_assert(static_cast<int>(tutti::LogLevel::Error) == TUTTI_LOG_ERROR);
static_assert(static_cast<int>(tutti::LogLevel::Trace) == TUTTI_LOG_TRACE);

extern "C" {

tutti_status tutti_set_log_callback(tutti_log_callback callback, void* user,
                                    tutti_release_function release_user, tutti_log_level level,
                                    tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        if (callback == nullptr) {
            tutti::set_log_listener({}, tutti::LogLevel::Off);
            return;
        }
        if (level > TUTTI_LOG_TRACE) {
            capi::refuse("level is ", level, "; it must be from TUTTI_LOG_OFF (0) to ",
                         "TUTTI_LOG_TRACE (5)");
        }
        const auto owned = std::make_shared<capi::User>(user, release_user);
        tutti::set_log_listener(
            [callback, owned](tutti::LogLevel line_level, const std::string& text) {
                callback(static_cast<tutti_log_level>(line_level), text.c_str(), owned->get());
            },
            static_cast<tutti::LogLevel>(level));
        owned->give();
    });
}

}  // extern "C"
