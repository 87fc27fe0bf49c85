#include "sleep.hpp"

#include <thread>

namespace tutti {

void sleep_until(const Deadline& deadline) noexcept {
    std::this_thread::sleep_until(deadline.when());
}

void sleep_for(Deadline::Clock::duration duration) noexcept {
    std::this_thread::sleep_for(duration);
}

void yield() noexcept {
    std::this_thread::yield();
}

}  // namespace tutti
