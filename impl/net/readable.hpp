// A descriptor on a loop that is told of when there is something to read: private to net/. Loop
// thread only.
#pragma once

#include <uv.h>

#include <functional>
#include <memory>
#include <utility>

#include "base/assert.hpp"
#include "descriptor.hpp"
#include "handle.hpp"
#include "loop.hpp"

namespace tutti::net {

struct Readable : Handle {
    uv_poll_t poll{};
    Descriptor descriptor;
    std::function<void()> ready;  // as long as there is something

    static std::shared_ptr<Readable> make(Loop& loop, Descriptor descriptor,
                                          std::function<void()> ready, const char* what) {
        TUTTI_ASSERT(loop.on_thread());
        auto made = std::make_shared<Readable>();
        made->descriptor = std::move(descriptor);
        made->ready = std::move(ready);
        check_uv(uv_poll_init(loop.native(), &made->poll, made->descriptor.get()), what);
        Handle::keep(made, &made->poll);
        const int result = uv_poll_start(&made->poll, UV_READABLE, [](uv_poll_t* raw, int, int) {
            static_cast<Readable*>(static_cast<Handle*>(raw->data))->ready();
        });
        if (result < 0) made->close();
        check_uv(result, what);
        return made;
    }

    void stop() {
        if (open()) uv_poll_stop(&poll);
    }
};

}  // namespace tutti::net
