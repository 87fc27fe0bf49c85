// Gloo's loop calls this when a descriptor is ready, in the form of the Gloo that this is built
// with.
#pragma once

#include <gloo/common/store.h>
#include <gloo/transport/tcp/loop.h>

namespace tutti::gloo_channel {

class LoopHandler : public ::gloo::transport::tcp::Handler {
private:
    virtual void handle(int events) noexcept = 0;  // loop thread

#if defined(GLOO_SHARED_STORE)  // 2025 and later
    void handleEvents(::gloo::transport::tcp::Loop& /*loop*/, int events) final {
        handle(events);
    }
#else
    void handleEvents(int events) final {
        handle(events);
    }
#endif
};

}  // namespace tutti::gloo_channel
