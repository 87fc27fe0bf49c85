// The interface through which a link reaches the pool, which owns it. It is called under the lock
// of the pool.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::tcp {

class Link;
class Mailbox;

constexpr const char* closed_by_peer = "the connection was closed";

// What is to be done on a socket as soon as it can be.
struct Wants {
    bool receive = true;
    bool send = true;
    bool operator==(const Wants&) const = default;
};

class LinkOwner {
public:
    // The mailbox of the group with that id, which this rank may be about to make; null: it has
    // ended.
    virtual Mailbox* mailbox(uint32_t group) = 0;
    virtual void said_goodbye(int peer, uint32_t group) = 0;
    // What the link waits for on one of its sockets, and waited for before.
    virtual void wants(Link& link, int socket, const Wants& now, const Wants& before) = 0;
    // A socket of a stripe is about to be closed.
    virtual void closes(int socket) = 0;
    virtual void closed(Link& link, const std::string& reason) = 0;

protected:
    ~LinkOwner() = default;
};

}  // namespace tutti::tcp
