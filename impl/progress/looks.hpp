// When a thread looks for work that other threads have posted and may do themselves: a while after
// it was posted, so that a caller who waits soon finds it untouched, and nobody is woken for it.
// Under the lock of its owner, but for the making.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

namespace tutti {

class Looks {
public:
    using Rest = std::chrono::microseconds;

    // Reads TUTTI_PROGRESS: microseconds until the first look; throws INVALID_ARGUMENT.
    Looks();

    // Whether the thread is woken for each work instead.
    [[nodiscard]] bool are_off() const { return first_ == Rest::zero(); }
    // Something had been left alone since the last look.
    void found_something() noexcept { next_ = first_; }
    // Something long was posted, beside which a look costs nothing: the next rest is the first one.
    // True if the thread may be in a longer one, and is to be woken.
    [[nodiscard]] bool shorten() noexcept {
        next_ = first_;
        return current_ > first_;
    }
    static constexpr size_t long_bytes = size_t{256} * 1024;
    // The rest before the next look; nothing: until the thread is woken. `is_busy`: there is
    // something, or others have done something, since the last look.
    std::optional<Rest> next(bool is_busy) noexcept;

    // The timers of the calling thread are as exact as a rest, where the system allows it.
    static void make_timers_exact() noexcept;

private:
    const Rest first_;
    Rest next_ = first_;
    Rest current_{0};
    Rest idle_{0};  // since it was busy
};

}  // namespace tutti
