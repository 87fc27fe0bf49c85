// How a rank waits for what another one writes: it spins a little where every rank has a processor,
// lets others run for a while, and then sleeps until the bell rings. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "layout.hpp"

namespace tutti::shm {

// Looks before it spins so often; 0 where ranks outnumber the processors this process may use.
int spins_for(int ranks);

inline void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

void wake(Part& mine);

// After this rank has written what others may sleep for: wakes them. Whoever counts itself after
// this has looked sees what was written.
inline void ring(Part& mine) {
    if (mine.sleepers.fetch_add(0, std::memory_order_acq_rel) != 0) wake(mine);
}

// Sleeps until the other rank's bell rings, for some milliseconds at most. `is_ready` is looked at
// once more when this rank is known to sleep.
void sleep(Part& other, bool (*is_ready)(void*), void* context);

}  // namespace tutti::shm
