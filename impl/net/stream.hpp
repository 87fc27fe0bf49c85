// TCP connections and listening sockets on a loop. Loop thread only. Any of these may be destroyed
// from inside its own callback.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "loop.hpp"

namespace tutti::net {

class Stream {
public:
    struct Events {
        // The bytes are valid until the callback returns.
        std::function<void(std::span<const std::byte>)> data;
        // Once, at end of file or an error (NETWORK), after all that the peer had sent before; not
        // after close(). Nothing follows.
        std::function<void(const Status&)> closed;
    };

    // Takes the descriptor, a connected socket, in every case. Reading starts at once.
    static std::unique_ptr<Stream> adopt(Loop& loop, int fd, Events events);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    // Sends as much as the kernel takes now and queues the rest. A failure shows in `closed`,
    // never here.
    void write(std::string bytes);
    [[nodiscard]] size_t queued() const;
    // From here on takes so many bytes more, then it is paused: what follows them is
    // the next owner's.
    void read_at_most(size_t bytes);
    // A paused stream is told nothing, an end neither, until it is resumed.
    void pause_reading();
    void resume_reading();
    // Drops what is queued.
    void close();
    // The connection goes to another owner in this process, with what has come and was not read;
    // this one is closed.
    [[nodiscard]] int release();

private:
    struct Core;
    explicit Stream(std::shared_ptr<Core> core) : core_(std::move(core)) {}
    std::shared_ptr<Core> core_;
};

class Listener {
public:
    // Takes listening descriptors (ListenSocket::release). `accepted` owns what it is given:
    // non-blocking, close-on-exec.
    // `exhausted` is told, with OUT_OF_MEMORY and the limit's name, that the process has no
    // descriptor or memory for a caller. It returns whether it has made one free, by closing a
    // connection: then the listener tries again at once, else it rests before it does. The callers
    // wait until then, so it should tell the threads of this process that wait for them.
    using Exhausted = std::function<bool(const Status&)>;
    Listener(Loop& loop, std::vector<int> descriptors, std::function<void(int fd)> accepted,
             Exhausted exhausted = {});
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

private:
    struct Core;
    Listener();
    std::vector<std::shared_ptr<Core>> cores_;
};

}  // namespace tutti::net
