#include "backoff.hpp"

#include <algorithm>
#include <utility>

namespace tutti {

bool Backoff::rests(Deadline& until) noexcept {
    if (pace_.next() != Pace::Next::Sleep) return false;
    until = Deadline::at(Deadline::Clock::now() + rest_);
    rest_ = std::min(2 * rest_, max_rest);
    return true;
}

PollingWait::PollingWait(std::vector<std::shared_ptr<Source>> all) : all_(std::move(all)) {
    std::ranges::sort(all_);
    all_.erase(std::unique(all_.begin(), all_.end()), all_.end());
    for (const auto& one : all_) one->begin_waiting();
}

PollingWait::~PollingWait() {
    for (const auto& one : all_) one->end_waiting();
}

bool PollingWait::poll(Deadline& until) noexcept {
    bool moved = false;
    for (const auto& one : all_) moved = one->advance() || moved;
    if (!moved) return backoff_.rests(until);
    backoff_.reset();
    return false;
}

}  // namespace tutti
