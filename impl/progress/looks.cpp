#include "looks.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <cstdint>

#include "base/environment.hpp"

namespace tutti {

namespace {

constexpr int64_t usual_rest = 50;
constexpr int64_t max_rest = 60'000'000;
constexpr int longest = 16;  // times the first rest
constexpr int most_passed_over = 63;
constexpr std::chrono::microseconds max_idle{1'000};  // to be woken costs a caller more than looks

}  // namespace

Looks::Looks() : first_(environment_number("TUTTI_PROGRESS", 0, max_rest).value_or(usual_rest)) {}

void Looks::found_something() noexcept {
    next_ = first_;
    current_ = longest * first_;  // it rests as long as nothing wakes it
    early_ = Early::No;
    to_pass_over_ = 0;
}

bool Looks::shorten() noexcept {
    if (early_ != Early::No || passed_over_++ < to_pass_over_) return false;
    passed_over_ = 0;
    early_ = Early::Asked;
    next_ = first_;
    return current_ > first_;
}

std::optional<Looks::Rest> Looks::next(bool is_busy) noexcept {
    if (early_ == Early::Resting) to_pass_over_ = std::min(2 * to_pass_over_ + 1, most_passed_over);
    early_ = early_ == Early::Asked ? Early::Resting : Early::No;
    if (is_busy) idle_ = Rest::zero();
    if (idle_ >= max_idle || are_off()) {
        next_ = first_;
        current_ = Rest::zero();
        return std::nullopt;
    }
    current_ = next_;
    idle_ += current_;
    next_ = std::min(2 * current_, longest * first_);
    return current_;
}

void Looks::make_timers_exact() noexcept {
    constexpr unsigned long nanoseconds = 1000;
    (void)::prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0);
}

}  // namespace tutti
