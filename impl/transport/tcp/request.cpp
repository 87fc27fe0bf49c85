#include "request.hpp"

namespace tutti::tcp {

Request::Request(RequestKeeper& of_keeper, Mailbox& of_mailbox, Transfer& of_transfer,
                 int to_or_from, Slot in_slot, void* memory, size_t size)
    : keeper(of_keeper),
      mailbox(of_mailbox),
      transfer(of_transfer),
      peer(to_or_from),
      slot(in_slot),
      data(static_cast<std::byte*>(memory)),
      bytes(size) {}

Request::~Request() {
    if (post == nullptr) keeper.withdraw(*this);
}

bool Request::stop() noexcept {
    return keeper.stop(*this);
}

}  // namespace tutti::tcp
