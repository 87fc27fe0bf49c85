#include "request.hpp"

#include "pool.hpp"

namespace tutti::tcp {

Request::Request(Pool& of_pool, Mailbox& of_mailbox, Transfer& of_transfer, int to_or_from,
                 Slot in_slot, void* memory, size_t size)
    : pool(of_pool),
      mailbox(of_mailbox),
      transfer(of_transfer),
      peer(to_or_from),
      slot(in_slot),
      data(static_cast<std::byte*>(memory)),
      bytes(size) {}

Request::~Request() {
    pool.withdraw(*this);
}

bool Request::stop() noexcept {
    return pool.stop(*this);
}

}  // namespace tutti::tcp
