// A descriptor by which a thread that sleeps on sockets is woken. One thread sleeps at a time; any
// thread rings.
#pragma once

#include "base/deadline.hpp"
#include "descriptor.hpp"

namespace tutti::net {

class Bell {
public:
    // Throws OUT_OF_MEMORY.
    Bell();

    void ring() const noexcept;
    // Sleeps until there is something on the sockets, the bell has rung since the last sleep, or
    // the deadline.
    void await_ring_or(int sockets, const Deadline& deadline) const noexcept;

private:
    const Descriptor event_;
};

}  // namespace tutti::net
