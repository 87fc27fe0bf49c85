// The checks at exit.
#include "leaks.hpp"

#include "engine.hpp"
#include "report.hpp"

#include <unistd.h>
#include <cstdlib>

namespace tutti::cuda {

static std::string what_is_left() {
    std::string left;
    const auto add = [&](const std::string& name) { left += (left.empty() ? "" : ", ") + name; };
    for (const auto& allocation : allocations_alive()) add(describe(*allocation));
    for (const auto& event : model().events)
        if (event->alive) add(describe(*event));
    for (const auto& stream : model().streams) {
        bool own = !stream->alive || stream->legacy;
        for (const auto& [thread, of_thread] : stream->context->of_threads)
            own |= of_thread == stream.get();
        if (!own) add(stream->name);
    }
    return left;
}

static void at_exit() {
    if (model().process != getpid()) return;  // a forked child
    const std::lock_guard lock(model().mutex);
    run_all();
    const std::string left = settings().leaks ? what_is_left() : "";
    if (!left.empty()) report("LEAK", left);
}

void watch_exit() {
    std::atexit(at_exit);
}

}  // namespace tutti::cuda
