#include "event.hpp"

#include "futex.hpp"

namespace tutti {

void Event::notify() noexcept {
    count_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
    futex::wake_all(count_, futex::Scope::Process);
}

bool Event::wait(uint32_t ticket, const Deadline& deadline) noexcept {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    bool in_time = true;
    while (in_time && count_.load(std::memory_order_seq_cst) == ticket) {
        in_time = futex::wait(count_, ticket, futex::Scope::Process, deadline);
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    return in_time || count_.load(std::memory_order_acquire) != ticket;
}

}  // namespace tutti
