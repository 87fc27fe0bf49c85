#include "waiting.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace tutti::shm {

namespace {

constexpr int most_spins = 20;  // where a processor may be missing, each costs those that work
// Then whoever sleeps looks whether the group has failed meanwhile.
constexpr timespec longest_sleep{0, 10'000'000};

// Not private: the memory belongs to several processes.
void futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* timeout) {
    (void)syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

}  // namespace

int spins_for(int ranks) {
    cpu_set_t allowed;
    const int processors =
        ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
    return ranks > processors ? 0 : most_spins;
}

void wake(Part& mine) {
    mine.bell.fetch_add(1, std::memory_order_seq_cst);
    futex(mine.bell, FUTEX_WAKE, INT_MAX, nullptr);
}

void sleep(Part& other, bool (*is_ready)(void*), void* context) {
    other.sleepers.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t heard = other.bell.load(std::memory_order_seq_cst);
    if (!is_ready(context)) futex(other.bell, FUTEX_WAIT, heard, &longest_sleep);
    other.sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace tutti::shm
