// Timers over uv_timer_t. Loop thread only.
#include <algorithm>

#include "base/assert.hpp"
#include "handle.hpp"
#include "loop.hpp"

namespace tutti::net {

struct Timer::Core : Handle {
    uv_timer_t timer{};
    std::function<void()> fired;
};

Timer::Timer(Loop& loop, std::function<void()> fired) : core_(std::make_shared<Core>()) {
    TUTTI_ASSERT(loop.on_thread());
    core_->fired = std::move(fired);
    check_uv(uv_timer_init(loop.native(), &core_->timer), "making a timer");
    Handle::keep(core_, &core_->timer);
}

Timer::~Timer() {
    core_->close();
}

void Timer::start(int64_t first_ms, int64_t repeat_ms) {
    if (!core_->open()) return;
    // The loop's clock stands still while callbacks run; the caller means from now.
    uv_update_time(core_->timer.loop);
    const auto fire = [](uv_timer_t* timer) {
        static_cast<Core*>(static_cast<Handle*>(timer->data))->fired();
    };
    uv_timer_start(&core_->timer, fire, static_cast<uint64_t>(std::max<int64_t>(first_ms, 0)),
                   static_cast<uint64_t>(std::max<int64_t>(repeat_ms, 0)));
}

void Timer::stop() {
    if (core_->open()) uv_timer_stop(&core_->timer);
}

}  // namespace tutti::net
