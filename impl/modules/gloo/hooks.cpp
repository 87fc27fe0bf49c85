// Gloo calls these instead of stderr and of functions of the system: packaging/gloo/
// tutti_gloo_hooks.h puts those with names of tutti's in their place, the linker the others. Any
// thread.
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>
#include <ctime>

#include "descriptors.hpp"

using tutti::gloo_module::Opening;

#define TUTTI_HIDDEN [[gnu::visibility("hidden")]]

extern "C" {
int __real_bind(int descriptor, const sockaddr* address, socklen_t size);
int __real_epoll_wait(int descriptor, epoll_event* events, int most, int timeout_ms);
int __real_listen(int descriptor, int backlog);
ssize_t __real_recv(int descriptor, void* data, size_t bytes, int flags);
TUTTI_HIDDEN int __wrap_bind(int descriptor, const sockaddr* address, socklen_t size);
TUTTI_HIDDEN int __wrap_epoll_wait(int descriptor, epoll_event* events, int most, int timeout_ms);
TUTTI_HIDDEN int __wrap_listen(int descriptor, int backlog);
TUTTI_HIDDEN ssize_t __wrap_recv(int descriptor, void* data, size_t bytes, int flags);
TUTTI_HIDDEN void tutti_gloo_log(int level, const char* message);
TUTTI_HIDDEN ssize_t tutti_gloo_writev(int descriptor, const iovec* pieces, int count);
TUTTI_HIDDEN int tutti_gloo_socket(int family, int type, int protocol);
TUTTI_HIDDEN int tutti_gloo_accept(int descriptor, sockaddr* address, socklen_t* size);
TUTTI_HIDDEN int tutti_gloo_epoll();
TUTTI_HIDDEN int tutti_gloo_pipe(int* ends, int flags);
TUTTI_HIDDEN int tutti_gloo_getifaddrs(ifaddrs** list);
}

namespace {

// Whether this thread has tried to move data since it last looked for events.
thread_local bool has_moved = true;
constexpr timespec rest{0, 20'000};
thread_local int last_listening = -1;
thread_local int wanted_port = 0;

}  // namespace

int tutti::gloo_module::last_listening_descriptor() {
    return last_listening;
}

void tutti::gloo_module::want_port(int port) {
    wanted_port = port;
}

// Gloo compares what it is to listen at, port and all, with the addresses of this host.
int __wrap_bind(int descriptor, const sockaddr* address, socklen_t size) {
    sockaddr_storage with_port{};
    if (wanted_port == 0 || size > sizeof with_port) return __real_bind(descriptor, address, size);
    std::memcpy(&with_port, address, size);
    const auto port = htons(static_cast<uint16_t>(wanted_port));
    if (with_port.ss_family == AF_INET) reinterpret_cast<sockaddr_in&>(with_port).sin_port = port;
    if (with_port.ss_family == AF_INET6) {
        reinterpret_cast<sockaddr_in6&>(with_port).sin6_port = port;
    }
    return __real_bind(descriptor, reinterpret_cast<const sockaddr*>(&with_port), size);
}

// Gloo's loop does not wait for the lock of a connection that another thread holds: it looks again
// at once, and so would take the processor from that thread.
int __wrap_epoll_wait(int descriptor, epoll_event* events, int most, int timeout_ms) {
    if (!has_moved) nanosleep(&rest, nullptr);
    const int count = __real_epoll_wait(descriptor, events, most, timeout_ms);
    has_moved = count <= 0;
    return count;
}

int __wrap_listen(int descriptor, int backlog) {
    last_listening = descriptor;
    return __real_listen(descriptor, backlog);
}

ssize_t __wrap_recv(int descriptor, void* data, size_t bytes, int flags) {
    has_moved = true;
    return __real_recv(descriptor, data, bytes, flags);
}

// A module has no log: what matters is in the error of the call.
void tutti_gloo_log(int /*level*/, const char* /*message*/) {}

// The other end may have closed it.
ssize_t tutti_gloo_writev(int descriptor, const iovec* pieces, int count) {
    has_moved = true;
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces);
    message.msg_iovlen = static_cast<size_t>(count);
    return sendmsg(descriptor, &message, MSG_NOSIGNAL);
}

int tutti_gloo_socket(int family, int type, int protocol) {
    const Opening opening;
    return opening.opened(::socket(family, type | SOCK_CLOEXEC, protocol));
}

int tutti_gloo_accept(int descriptor, sockaddr* address, socklen_t* size) {
    const Opening opening;
    return opening.opened(::accept4(descriptor, address, size, SOCK_CLOEXEC));
}

int tutti_gloo_epoll() {
    const Opening opening;
    return opening.opened(::epoll_create1(EPOLL_CLOEXEC));
}

// It asks the kernel through a socket.
int tutti_gloo_getifaddrs(ifaddrs** list) {
    const Opening opening;
    return ::getifaddrs(list);
}

int tutti_gloo_pipe(int* ends, int flags) {
    const Opening opening;
    const int result = ::pipe2(ends, flags | O_CLOEXEC);
    if (result != 0) return result;
    opening.opened(ends[0]);
    opening.opened(ends[1]);
    return result;
}
