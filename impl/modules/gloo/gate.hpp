// Ends the waits of Gloo's functions. Stock Gloo wakes a wait only when its message has come, or
// when the connection breaks while it looks; the buffers here can be woken at any time, and what
// waits on them later fails at once. Any thread.
#pragma once

#include <gloo/context.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>

#include "failure.hpp"

namespace tutti::gloo_module {

// A wait on one buffer was woken by its abortWaitRecv(), and the gate is open.
struct Interrupted {};

class Gate {
public:
    // All waits of its buffers fail with `why`, now and later. The first reason counts.
    void close(const Failure& why);
    // Throws the reason if it is closed. `awaited`: the rank that is waited for; -1: none.
    void check(int awaited = -1) const;
    [[nodiscard]] bool is_closed() const;
    // Until it is closed; false: it is not, and the time is up.
    bool wait_until_closed(std::chrono::milliseconds time) const;

private:
    friend class GatedBuffer;
    void add(gloo::transport::UnboundBuffer* buffer);
    void remove(gloo::transport::UnboundBuffer* buffer);

    mutable std::mutex mutex_;
    mutable std::condition_variable closed_;
    bool is_closed_ = false;
    Failure why_;
    std::set<gloo::transport::UnboundBuffer*> buffers_;
};

// A context for Gloo's collectives over the connections of `transport`, whose waits end with
// `gate`, which must outlive it. A connection that breaks is a NETWORK failure that names the rank
// at its other end.
[[nodiscard]] std::shared_ptr<gloo::Context> gated_context(
    std::shared_ptr<gloo::transport::Device> device,
    std::shared_ptr<gloo::transport::Context> transport, Gate& gate);

}  // namespace tutti::gloo_module
