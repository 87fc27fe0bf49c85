// Sleeping for a time, where nothing can notify the thread: between attempts, or looks at what
// others write. Any thread.
#pragma once

#include "base/deadline.hpp"

namespace tutti {

// The deadline has an end.
void sleep_until(const Deadline& deadline) noexcept;
void sleep_for(Deadline::Clock::duration duration) noexcept;
// Lets other threads run, where one of them is about to do what this one needs.
void yield() noexcept;

}  // namespace tutti
