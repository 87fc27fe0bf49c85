#include "doorbell.hpp"

#include "base/deadline.hpp"
#include "futex.hpp"

namespace tutti {

void Doorbell::wake() noexcept {
    rings.fetch_add(1, std::memory_order_seq_cst);
    futex::wake_all(rings, futex::Scope::Shared);
}

void Doorbell::await_ring(uint32_t heard, std::chrono::nanoseconds longest) noexcept {
    futex::wait(rings, heard, futex::Scope::Shared, Deadline::at(Deadline::Clock::now() + longest));
}

void Doorbell::sleep(bool (*is_ready)(void*), void* context,
                     std::chrono::nanoseconds longest) noexcept {
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t heard = rings.load(std::memory_order_seq_cst);
    if (!is_ready(context)) await_ring(heard, longest);
    sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace tutti
