// The threads that end what takes time to end (a group's teardown, a store's connections), so that
// a release never blocks. One is started with the first such release and ends with the process at
// the latest; more are there while it is held up.
#pragma once

#include "handle.hpp"

namespace tutti::capi {

// Takes a slot whose generation has ended; its object is destroyed later, though another one that
// came before may still be held up. Any thread.
void reap(Slot& slot) noexcept;

// Waits, not for long, until what was released so far has ended: before something is made that may
// want the same port or file.
void drain_reaper() noexcept;

// Waits until all that was released has ended, and ends the threads; the next release starts one
// again. Before a fork whose child is to use tutti.
void end_reaper() noexcept;

}  // namespace tutti::capi
