// Gloo calls these instead of stderr, writev and the calls that open descriptors;
// packaging/gloo/tutti_gloo_hooks.h puts them in their place. Any thread.
#include <fcntl.h>
#include <ifaddrs.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <ctime>

extern "C" {
int __real_epoll_wait(int descriptor, epoll_event* events, int most, int timeout_ms);
[[gnu::visibility("hidden")]] int __wrap_epoll_wait(int descriptor, epoll_event* events, int most,
                                                    int timeout_ms);
ssize_t __real_recv(int descriptor, void* data, size_t bytes, int flags);
[[gnu::visibility("hidden")]] ssize_t __wrap_recv(int descriptor, void* data, size_t bytes,
                                                  int flags);
[[gnu::visibility("hidden")]] void tutti_gloo_log(int level, const char* message);
[[gnu::visibility("hidden")]] ssize_t tutti_gloo_writev(int descriptor, const iovec* pieces,
                                                        int count);
[[gnu::visibility("hidden")]] int tutti_gloo_socket(int family, int type, int protocol);
[[gnu::visibility("hidden")]] int tutti_gloo_accept(int descriptor, sockaddr* address,
                                                    socklen_t* size);
[[gnu::visibility("hidden")]] int tutti_gloo_epoll();
[[gnu::visibility("hidden")]] int tutti_gloo_pipe(int* ends, int flags);
[[gnu::visibility("hidden")]] int tutti_gloo_getifaddrs(ifaddrs** list);
}

namespace {

// Whether this thread has tried to move data since it last looked for events.
thread_local bool has_moved = true;
constexpr timespec rest{0, 20'000};

}  // namespace

// Gloo's loop does not wait for the lock of a connection that another thread holds: it looks again
// at once, and so would take the processor from that thread.
int __wrap_epoll_wait(int descriptor, epoll_event* events, int most, int timeout_ms) {
    if (!has_moved) nanosleep(&rest, nullptr);
    const int count = __real_epoll_wait(descriptor, events, most, timeout_ms);
    has_moved = count <= 0;
    return count;
}

ssize_t __wrap_recv(int descriptor, void* data, size_t bytes, int flags) {
    has_moved = true;
    return __real_recv(descriptor, data, bytes, flags);
}

// A module has no log: what matters is in the error of the call.
void tutti_gloo_log(int /*level*/, const char* /*message*/) {}

ssize_t tutti_gloo_writev(int descriptor, const iovec* pieces, int count) {
    has_moved = true;
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces);
    message.msg_iovlen = static_cast<size_t>(count);
    return sendmsg(descriptor, &message, MSG_NOSIGNAL);
}

int tutti_gloo_socket(int family, int type, int protocol) {
    return ::socket(family, type | SOCK_CLOEXEC, protocol);
}

int tutti_gloo_accept(int descriptor, sockaddr* address, socklen_t* size) {
    return ::accept4(descriptor, address, size, SOCK_CLOEXEC);
}

int tutti_gloo_epoll() {
    return ::epoll_create1(EPOLL_CLOEXEC);
}

int tutti_gloo_getifaddrs(ifaddrs** list) {
    return ::getifaddrs(list);
}

int tutti_gloo_pipe(int* ends, int flags) {
    return ::pipe2(ends, flags | O_CLOEXEC);
}
