// The thread that ends what takes time to end (a group's teardown, a store's connections), so that
// a release never blocks. Started with the first such release, ends with the process at the latest.
#pragma once

#include "handle.hpp"

namespace tutti::capi {

// Takes a slot whose generation has ended; its object is destroyed later, in order. Any thread.
void reap(Slot& slot) noexcept;

// Waits, not for long, until what was released so far has ended: before something is made that may
// want the same port or file.
void let_releases_end() noexcept;

// Waits until all that was released has ended, and ends the thread; the next release starts it
// again. Before a fork whose child is to use tutti.
void end_reaper() noexcept;

}  // namespace tutti::capi
