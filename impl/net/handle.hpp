// The part of a loop object that libuv keeps using after its owner is gone: private to net/. Loop
// thread only. Freed once libuv has let go of it and the owner has too.
#pragma once

#include <uv.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "base/resource_limits.hpp"

namespace tutti::net {

class Handle {
public:
    Handle() = default;
    virtual ~Handle() = default;
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;

    // After libuv has initialised `raw`, a member of `self`.
    static void keep(const std::shared_ptr<Handle>& self, void* raw) {
        self->raw_ = static_cast<uv_handle_t*>(raw);
        self->raw_->data = self.get();
        self->kept_ = self;
    }

    [[nodiscard]] bool open() const { return raw_ != nullptr && uv_is_closing(raw_) == 0; }

    void close() noexcept {
        if (!open()) return;
        uv_close(raw_, [](uv_handle_t* raw) {
            auto* self = static_cast<Handle*>(raw->data);
            self->raw_ = nullptr;
            const std::shared_ptr<Handle> last = std::move(self->kept_);
        });
    }

private:
    uv_handle_t* raw_ = nullptr;
    std::shared_ptr<Handle> kept_;
};

// A loop looks at these from time to time, as long as somebody owns them and they are not over.
class Watched {
public:
    Watched() = default;
    virtual ~Watched() = default;
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

    [[nodiscard]] virtual bool is_over() const noexcept = 0;
    [[nodiscard]] virtual bool is_dead() const noexcept = 0;
    virtual void end_dead() noexcept = 0;
};

// Throws NETWORK for a negative result of libuv, OUT_OF_MEMORY for one of exhaustion, UNSUPPORTED
// where the system refuses what libuv needs.
inline void check_uv(int result, const char* what) {
    if (-result == ENOSYS || -result == EPERM)
        throw call_error("epoll_create1, epoll_ctl, eventfd2 or pipe2", what, -result);
    if (result < 0) throw system_error(TUTTI_ERR_NETWORK, what, -result);
}

}  // namespace tutti::net
