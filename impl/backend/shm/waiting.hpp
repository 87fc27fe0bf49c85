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

// After this rank has written what others may sleep for: wakes them.
inline void ring(Part& mine) {
    // What was written is seen by a sleeper that is not seen here.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (mine.sleepers.load(std::memory_order_relaxed) == 0) return;
    void wake(Part&);
    wake(mine);
}

// Sleeps until the other rank's bell rings, for some milliseconds at most. `is_ready` is looked at
// once more when this rank is known to sleep.
void sleep(Part& other, bool (*is_ready)(void*), void* context);

}  // namespace tutti::shm
