// Interruptions, and waiting for them. Any thread.
#include "interruption.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/resource_limits.hpp"
#include "progress/sleep.hpp"

namespace tutti {
namespace {

void make_readable(int descriptor) noexcept {
    const uint64_t one = 1;
    (void)!::write(descriptor, &one, sizeof one);
}

}  // namespace

void Interruption::happen() noexcept {
    happened_.store(true, std::memory_order_release);
    event_.notify();
    const Lock lock(mutex_);
    if (descriptor_.valid()) make_readable(descriptor_.get());
}

void Interruption::sleep(const Deadline& until) noexcept {
    const uint32_t ticket = event_.ticket();
    if (!happened()) event_.wait(ticket, until);
}

int Interruption::descriptor() {
    const Lock lock(mutex_);
    if (descriptor_.valid()) return descriptor_.get();
    descriptor_ =
        net::Descriptor(open_tracked([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }));
    if (!descriptor_.valid()) throw call_error("eventfd", "eventfd", errno);
    if (happened()) make_readable(descriptor_.get());
    return descriptor_.get();
}

void WaitLimit::sleep(Deadline::Clock::duration pause) const {
    const auto until = std::min(Deadline::Clock::now() + pause, deadline_.when());
    if (interruption_ == nullptr)
        sleep_until(Deadline::at(until));
    else
        interruption_->sleep(Deadline::at(until));
}

std::shared_ptr<Interruption> Interruptible::current() {
    const Lock lock(mutex_);
    if (current_ == nullptr) current_ = std::make_shared<Interruption>();
    return current_;
}

void Interruptible::interrupt() {
    std::shared_ptr<Interruption> current;
    {
        const Lock lock(mutex_);
        current = std::exchange(current_, nullptr);
    }
    if (current != nullptr) current->happen();
}

}  // namespace tutti
