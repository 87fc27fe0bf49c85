// One posted message, from its post until its owner lets go of it. The lock of the pool guards it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/channel.hpp"

namespace tutti::tcp {

class Link;
class Mailbox;
struct Request;

// Has the lock, and acts on the requests of a transfer's owner.
class RequestKeeper {
public:
    virtual void withdraw(Request& request) noexcept = 0;
    virtual bool stop(Request& request) noexcept = 0;

protected:
    ~RequestKeeper() = default;
};

struct Request final : TransferHold {
    Request(RequestKeeper& keeper, Mailbox& mailbox, Transfer& transfer, int peer, Slot slot,
            void* data, size_t bytes);
    ~Request() override;
    bool stop() noexcept override;

    RequestKeeper& keeper;
    Mailbox& mailbox;
    Transfer& transfer;
    int peer;  // in the world; -1: any, until one is known
    const Slot slot;
    std::byte* const data;  // a send only reads it
    const size_t bytes;
    bool has_entered = false;  // the mailbox
    bool is_pending = false;
    size_t place = 0;      // among the pending ones
    Link* link = nullptr;  // that has it
};

}  // namespace tutti::tcp
