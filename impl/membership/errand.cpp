#include "errand.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/thread.hpp"

namespace tutti::membership {

bool Errand::start(std::function<void()> act) {
    join();
    try {
        const Lock lock(mutex_);
        thread_ = start_thread("tutti-rejoin", std::move(act));
        return true;
    } catch (...) {
        log(LogLevel::Warning, "control: ", current_status().message);
        return false;
    }
}

void Errand::join() {
    std::thread before;
    {
        const Lock lock(mutex_);
        before = std::move(thread_);
    }
    if (before.joinable()) before.join();
}

}  // namespace tutti::membership
