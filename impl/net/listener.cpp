// Listening sockets over uv_poll_t with accept4 of our own: close-on-exec from the start, and a
// rest instead of a spin when the process has no descriptors left. Loop thread only.
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "base/resource_limits.hpp"
#include "descriptor.hpp"
#include "handle.hpp"
#include "stream.hpp"

namespace tutti::net {
namespace {

constexpr int64_t rest_ms = 100;
constexpr int max_at_once = 64;  // then other connections get their turn

}  // namespace

struct Listener::Core : Handle {
    uv_poll_t poll{};
    Descriptor descriptor;
    std::function<void(int)> accepted;
    Exhausted exhausted;
    std::unique_ptr<Timer> rest;

    void listen() {
        uv_poll_start(&poll, UV_READABLE, [](uv_poll_t* raw, int, int) {
            static_cast<Core*>(static_cast<Handle*>(raw->data))->accept_some();
        });
    }

    // Without a descriptor accept fails though nobody calls. Keeps errno.
    [[nodiscard]] bool is_called() const noexcept {
        const int number = errno;
        pollfd entry{descriptor.get(), POLLIN, 0};
        const bool called = ::poll(&entry, 1, 0) != 0;
        errno = number;
        return called;
    }

    bool has_made_room(int number) noexcept {
        const Status status =
            system_error(TUTTI_ERR_NETWORK, "accepting a connection", number).status();
        log(LogLevel::Warning, status.message);
        return is_exhaustion(number) && exhausted && exhausted(status);
    }

    void take_rest() noexcept {
        log(LogLevel::Debug, "accepting again in ", rest_ms, " ms");
        uv_poll_stop(&poll);
        rest->start(rest_ms, 0);
    }

    void accept_some() noexcept {
        for (int count = 0; count < max_at_once && open(); ++count) {
            const int fd = open_tracked([&] {
                return ::accept4(descriptor.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
            });
            if (fd >= 0) {
                accepted(fd);
            } else if (errno == EAGAIN || errno == EWOULDBLOCK || !is_called()) {
                return;
            } else if (errno != EINTR && errno != ECONNABORTED && !has_made_room(errno)) {
                if (open()) take_rest();
                return;
            }
        }
    }
};

Listener::Listener() = default;

// Delegates, so that the destructor runs when the rest throws.
Listener::Listener(Loop& loop, std::vector<int> descriptors, std::function<void(int fd)> accepted,
                   Exhausted exhausted)
    : Listener() {
    TUTTI_ASSERT(loop.on_thread());
    for (const int fd : descriptors) {
        cores_.push_back(std::make_shared<Core>());
        cores_.back()->descriptor = Descriptor(fd);
        cores_.back()->accepted = accepted;
        cores_.back()->exhausted = exhausted;
    }
    for (const auto& core : cores_) {
        core->rest = std::make_unique<Timer>(loop, [raw = core.get()] {
            if (raw->open()) raw->listen();
        });
        check_uv(uv_poll_init(loop.native(), &core->poll, core->descriptor.get()),
                 "listening on a loop");
        Handle::keep(core, &core->poll);
        core->listen();
    }
}

Listener::~Listener() {
    for (const auto& core : cores_) {
        core->rest.reset();
        core->close();
        core->descriptor.reset();
    }
}

}  // namespace tutti::net
