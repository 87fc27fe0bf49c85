#include "progress.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace tutti {

namespace {

constexpr int spins = 100;    // polls in a row
constexpr int yields = 1000;  // then, of which each lets another thread run first
constexpr std::chrono::microseconds min_rest{20};
constexpr int doublings = 5;  // 640 us

}  // namespace

bool Backoff::rests(Deadline& until) noexcept {
    ++fruitless_;
    if (fruitless_ <= spins) return false;
    if (fruitless_ <= spins + yields) {
        ::sched_yield();
        return false;
    }
    const int doubled = std::min(fruitless_ - spins - yields - 1, doublings);
    fruitless_ = std::min(fruitless_, spins + yields + doublings + 1);
    until = Deadline::at(Deadline::Clock::now() + min_rest * (1 << doubled));
    return true;
}

PollingWait::PollingWait(std::vector<std::shared_ptr<Progress>> all) : all_(std::move(all)) {
    std::ranges::sort(all_);
    all_.erase(std::unique(all_.begin(), all_.end()), all_.end());
    for (const auto& one : all_) one->begin_waiting();
}

PollingWait::~PollingWait() {
    for (const auto& one : all_) one->end_waiting();
}

bool PollingWait::poll(Deadline& until) noexcept {
    bool moved = false;
    for (const auto& one : all_) moved = one->poll() || moved;
    if (!moved) return backoff_.rests(until);
    backoff_.reset();
    return false;
}

}  // namespace tutti
