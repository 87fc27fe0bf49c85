// One posted message, from its post until its owner releases it. The lock of the pool guards it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/keyed_queues.hpp"
#include "transport/channel.hpp"

namespace tutti::tcp {

class Link;
class Mailbox;
struct Accepted;
struct Divided;
struct Frame;
struct Post;
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
    size_t place = 0;  // among the pending ones
    uint64_t turn = 0;
    QueuePlace<Request> waiting;  // of a receive that no message has come for

    // The link that has it, and where; null: nowhere.
    Link* link = nullptr;
    Frame* frame = nullptr;  // that is still to be sent
    uint32_t untaken = 0;    // the id by which the other side answers; 0: it does not
    Accepted* accepted = nullptr;
    Divided* divided = nullptr;
    Post* post = nullptr;  // whose request it is; null: its owner has it by the transfer

    // The link has closed.
    void lose_link() {
        link = nullptr;
        frame = nullptr;
        untaken = 0;
        divided = nullptr;
    }
};

}  // namespace tutti::tcp
