#include "fault_point.hpp"

#if defined(TUTTI_FAULT_POINTS)

#include <unistd.h>
#include <csignal>

#include <atomic>
#include <string>

#include "environment.hpp"
#include "error.hpp"

namespace tutti {

namespace {

struct Plan {
    std::string name;
    int64_t count = 0;
    std::string action;
};

Plan plan_from_environment() {
    const std::string text = environment("TUTTI_FAULT").value_or("");
    if (text.empty()) return {};
    const size_t at = text.find('@');
    const size_t equals = text.find('=');
    if (at == std::string::npos || equals == std::string::npos || equals < at) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat("environment variable TUTTI_FAULT is \"", text,
                                                    "\", not name@count=action"));
    }
    return {text.substr(0, at),
            parse_number(text.substr(at + 1, equals - at - 1), "count in TUTTI_FAULT", 1, 1 << 30),
            text.substr(equals + 1)};
}

}  // namespace

void pass_fault_point(const char* name) {
    static const Plan plan = plan_from_environment();
    static std::atomic<int64_t> passed{0};
    if (plan.name != name || ++passed != plan.count) return;
    if (plan.action == "kill") {
        raise(SIGKILL);
    } else if (plan.action == "stop") {
        raise(SIGSTOP);
    } else if (plan.action == "hang") {
        while (true) ::pause();
    } else if (plan.action == "exit") {
        _exit(3);
    } else {
        throw Error(TUTTI_ERR_BACKEND, cat("fault point ", name));
    }
}

}  // namespace tutti

#endif
