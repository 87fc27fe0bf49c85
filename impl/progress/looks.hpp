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
    void found_something() noexcept;
    // Something long was posted, which may be left alone: the next rest is the first one. True if
    // the thread may be in a longer one, and is to be woken. The more often that was for nothing,
    // because callers soon waited, the more such posts change nothing: each look takes a processor
    // from somebody.
    [[nodiscard]] bool shorten() noexcept;
    static constexpr size_t long_bytes = size_t{256} * 1024;
    // The rest before the next look; nothing: until the thread is woken. `is_busy`: there is
    // something, or others have done something, since the last look.
    std::optional<Rest> next(bool is_busy) noexcept;

    // The timers of the calling thread are as exact as a rest, where the system allows it.
    static void make_timers_exact() noexcept;

private:
    enum class Early { No, Asked, Resting };  // a look because of something long

    const Rest first_;
    Rest next_ = first_;
    Rest current_{0};
    Rest idle_{0};  // since it was busy
    Early early_ = Early::No;
    int to_pass_over_ = 0;  // posts of something long, after an early look for nothing,
    int passed_over_ = 0;   // and since then
};

}  // namespace tutti
