// What tutti has open in this process, so that a child of fork can close its copies: a peer must
// see a connection end, a port be free and a lock go when the parent is done with it, whatever the
// child does. Any thread.
#pragma once

namespace tutti::net {

// Whoever opens notes, and whoever closes forgets before: another thread may get the number next.
// What is closed by others, libuv and Gloo, needs no forgetting: it is known by its inode, too.
void note_open(int descriptor) noexcept;
void note_closed(int descriptor) noexcept;

// Only in a child of fork, while it has one thread; async-signal-safe. A descriptor that another
// thread was just about to note stays open.
void close_belongings() noexcept;

}  // namespace tutti::net
