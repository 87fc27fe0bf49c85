// What Gloo calls instead of stderr and writev; packaging/gloo/tutti_gloo_hooks.h puts them in its
// place. Any thread.
#include <sys/socket.h>
#include <sys/uio.h>

#include <cstdint>

#include "base/log.hpp"

extern "C" {
[[gnu::visibility("hidden")]] void tutti_gloo_log(int level, const char* message);
[[gnu::visibility("hidden")]] ssize_t tutti_gloo_writev(int descriptor, const iovec* pieces,
                                                        int count);
}

void tutti_gloo_log(int level, const char* message) {
    tutti::log(static_cast<tutti::LogLevel>(level), "gloo: ", message);
}

ssize_t tutti_gloo_writev(int descriptor, const iovec* pieces, int count) {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces);
    message.msg_iovlen = static_cast<size_t>(count);
    return sendmsg(descriptor, &message, MSG_NOSIGNAL);
}
