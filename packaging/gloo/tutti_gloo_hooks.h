// Put in front of every file of Gloo while it is compiled (-include), so that its sources stay as
// Debian ships them. Three things change: what Gloo would print goes to tutti's log, what it writes
// to a closed connection is an error, not a SIGPIPE, and descriptors are opened as tutti's own are:
// closed when the program executes another, from the moment they are there, and with no number that
// belongs to a standard stream. The functions are defined in impl/transport/gloo/hooks.cpp; the
// levels are those of impl/base/log.hpp. Called on any thread of Gloo's.
#pragma once

#include <fcntl.h>
#include <ifaddrs.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>

#include "gloo/common/logging.h"

extern "C" {
__attribute__((visibility("hidden"))) void tutti_gloo_log(int level, const char* message);
__attribute__((visibility("hidden"))) ssize_t tutti_gloo_writev(int descriptor,
                                                                const struct iovec* pieces,
                                                                int count);
__attribute__((visibility("hidden"))) int tutti_gloo_socket(int family, int type, int protocol);
__attribute__((visibility("hidden"))) int tutti_gloo_accept(int descriptor,
                                                            struct sockaddr* address,
                                                            socklen_t* size);
__attribute__((visibility("hidden"))) int tutti_gloo_epoll(void);
__attribute__((visibility("hidden"))) int tutti_gloo_pipe(int* ends, int flags);
__attribute__((visibility("hidden"))) int tutti_gloo_getifaddrs(struct ifaddrs** list);
}

#undef GLOO_ERROR
#undef GLOO_WARN
#undef GLOO_INFO
#define GLOO_ERROR(...) ::tutti_gloo_log(1, ::gloo::MakeString(__VA_ARGS__).c_str())
#define GLOO_WARN(...) ::tutti_gloo_log(2, ::gloo::MakeString(__VA_ARGS__).c_str())
#define GLOO_INFO(...) ::tutti_gloo_log(3, ::gloo::MakeString(__VA_ARGS__).c_str())

#define writev tutti_gloo_writev
#define socket(family, type, protocol) tutti_gloo_socket(family, type, protocol)
// Its class Socket has a function of that name, which has this one then.
#define accept tutti_gloo_accept
#define epoll_create(size) tutti_gloo_epoll()
#define pipe(ends) tutti_gloo_pipe(ends, 0)
#define pipe2(ends, flags) tutti_gloo_pipe(ends, flags)
#define getifaddrs(list) tutti_gloo_getifaddrs(list)
