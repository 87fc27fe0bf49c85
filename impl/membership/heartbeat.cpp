#include "heartbeat.hpp"

#include "base/environment.hpp"
#include "base/error.hpp"

namespace tutti::membership {

Heartbeat Heartbeat::from_environment() {
    Heartbeat heartbeat;
    constexpr int64_t day_ms = 24 * 3600 * 1000;
    heartbeat.interval_ms =
        environment_number("TUTTI_HEARTBEAT_MS", 1, day_ms).value_or(heartbeat.interval_ms);
    heartbeat.timeout_ms =
        environment_number("TUTTI_HEARTBEAT_TIMEOUT_MS", 0, day_ms).value_or(heartbeat.timeout_ms);
    if (heartbeat.timeout_ms > 0 && heartbeat.timeout_ms < 3 * heartbeat.interval_ms) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("TUTTI_HEARTBEAT_TIMEOUT_MS is ", heartbeat.timeout_ms,
                        ", less than three times TUTTI_HEARTBEAT_MS, ", heartbeat.interval_ms));
    }
    return heartbeat;
}

}  // namespace tutti::membership
