// The descriptors that tutti has open in this process, so that a child of fork can close its
// copies: when the parent is done with them, a peer must see a connection end, a port must be free
// and a lock released, whatever the child does. Any thread.
#pragma once

#include <cerrno>
#include <mutex>

#include "mutex.hpp"

namespace tutti {

// Descriptors that libuv and backends from outside close need no untracking: the inode is compared.
void track_open(int descriptor) noexcept;
// Untracks it first: another thread may get the number next.
void close_tracked(int descriptor) noexcept;

// While one lives, what is opened, by a library too, has no number below 3: what a program prints
// whose standard output is closed must not go into a connection, and libuv ends a process that gave
// it such a number. The closed ones of 0, 1 and 2 are taken by descriptors that cannot be read or
// written, and are free again after the last: the program may want to open a file that has one of
// them. Whatever is open for a moment needs one as well: the number that it leaves is the next to
// be had, in the middle of what another thread opens.
class StandardPlaceholders {
public:
    StandardPlaceholders() noexcept;
    ~StandardPlaceholders();
    StandardPlaceholders(const StandardPlaceholders&) = delete;
    StandardPlaceholders& operator=(const StandardPlaceholders&) = delete;
};

// While one lives, no fork comes either. Short; its thread makes and ends no other meanwhile.
class Opening {
public:
    Opening() noexcept;
    ~Opening();
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;

private:
    const std::lock_guard<std::mutex> lock_;
};

// The same descriptor, under another number if its own is below 3.
int above_standard(int descriptor) noexcept;

// Calls open(), which returns a descriptor, or -1 with errno set, and tracks it.
template <typename Open>
int open_tracked(Open&& open) noexcept {
    int descriptor = -1;
    int number = 0;
    {
        const Opening opening;
        descriptor = above_standard(open());
        number = errno;
        track_open(descriptor);
    }
    errno = number;
    return descriptor;
}

// Called by the forking thread, around the fork: waits for opens and closes of other threads.
void before_fork() noexcept;
void after_fork() noexcept;  // in parent and child

// Only in a child of fork, while it has one thread; async-signal-safe.
void close_in_forked_child() noexcept;

}  // namespace tutti
