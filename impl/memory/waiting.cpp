#include "waiting.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <ctime>

#include "base/control_group.hpp"

namespace tutti::shm {

namespace {

constexpr int max_spins = 200;  // where a processor may be missing, each costs those that work

// Not private: the memory belongs to several processes.
void futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* timeout) {
    (void)syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

// 0: no limit.
uint32_t limit_of_control_group() {
    const double quota = std::ceil(processor_quota());
    return quota < UINT32_MAX ? static_cast<uint32_t>(quota) : 0;
}

}  // namespace

// Each group asks; the control group's files are read once.
Processors processors_of_this_process() {
    static const uint32_t at_a_time = limit_of_control_group();
    Processors mine;
    mine.at_a_time = at_a_time;
    if (::sched_getaffinity(0, sizeof mine.allowed, &mine.allowed) != 0) CPU_ZERO(&mine.allowed);
    return mine;
}

int spins_for(std::span<const Processors> of_ranks) {
    cpu_set_t together;
    CPU_ZERO(&together);
    uint32_t at_a_time = UINT32_MAX;
    for (const Processors& one : of_ranks) {
        CPU_OR(&together, &together, &one.allowed);
        if (one.at_a_time > 0) at_a_time = std::min(at_a_time, one.at_a_time);
    }
    const auto processors = static_cast<uint32_t>(CPU_COUNT(&together));
    return of_ranks.size() > std::min(processors, at_a_time) ? 0 : max_spins;
}

bool has_spare_processor(const Processors& mine, size_t ranks_here) {
    const auto processors = static_cast<uint32_t>(CPU_COUNT(&mine.allowed));
    const uint32_t at_a_time = mine.at_a_time > 0 ? mine.at_a_time : processors;
    return std::min(processors, at_a_time) > ranks_here;
}

void wake(Doorbell& doorbell) {
    doorbell.rings.fetch_add(1, std::memory_order_seq_cst);
    futex(doorbell.rings, FUTEX_WAKE, INT_MAX, nullptr);
}

void await_ring(Doorbell& doorbell, uint32_t heard, std::chrono::nanoseconds longest) {
    const timespec timeout{0, static_cast<long>(longest.count())};  // less than a second
    futex(doorbell.rings, FUTEX_WAIT, heard, &timeout);
}

void sleep(Doorbell& doorbell, bool (*is_ready)(void*), void* context,
           std::chrono::nanoseconds longest) {
    doorbell.sleepers.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t heard = doorbell.rings.load(std::memory_order_seq_cst);
    if (!is_ready(context)) await_ring(doorbell, heard, longest);
    doorbell.sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace tutti::shm
