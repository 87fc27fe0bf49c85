#include "gate.hpp"

namespace tutti {

// Under the lock, which the thread that waits needs to see that nobody is left.
void Gate::leave_shut() noexcept {
    const Lock lock(mutex_);
    users_.fetch_sub(one_user);
    left_.notify_all();
}

void Gate::wait_until_unused() noexcept {
    shut();
    Lock lock(mutex_);
    while (users_ >= one_user) left_.wait(lock);
}

}  // namespace tutti
