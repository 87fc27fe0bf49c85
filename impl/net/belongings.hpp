// What tutti has open in this process, so that a child of fork can close its copies: a peer must
// see a connection end, a port be free and a lock go when the parent is done with it, whatever the
// child does. Any thread.
#pragma once

#include <cerrno>

#include "base/mutex.hpp"

namespace tutti::net {

// Held while something is opened and noted, or forgotten and closed. Short.
Mutex& between_forks() noexcept;

// What is closed by others, libuv and Gloo, needs no forgetting: it is known by its inode, too.
void note_open(int descriptor) noexcept;
// Forgets it before: another thread may get the number next.
void close_noted(int descriptor) noexcept;

// Calls open(), which returns a descriptor, or -1 with errno set, and notes what it gives; no fork
// comes between.
template <typename Open>
int open_noted(Open&& open) noexcept {
    int descriptor = -1;
    int number = 0;
    {
        const Lock lock(between_forks());
        descriptor = open();
        number = errno;
        note_open(descriptor);
    }
    errno = number;
    return descriptor;
}

// By the thread that forks, around it: waits for what other threads open and close.
void before_fork() noexcept;
void after_fork() noexcept;  // in parent and child

// Only in a child of fork, while it has one thread; async-signal-safe.
void close_belongings() noexcept;

}  // namespace tutti::net
