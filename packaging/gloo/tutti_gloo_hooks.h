// Put in front of every file of Gloo while it is compiled (-include), so that its sources stay as
// Debian ships them. Three things change: what Gloo would print goes to tutti's log, what it writes
// to a closed connection is an error, not a SIGPIPE, and its descriptors are closed when the program
// executes another. Both functions are defined in
// impl/transport/gloo/; their levels are those of impl/base/log.hpp. Called on any thread of Gloo's.
#pragma once

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>

#include "gloo/common/logging.h"

extern "C" {
__attribute__((visibility("hidden"))) void tutti_gloo_log(int level, const char* message);
__attribute__((visibility("hidden"))) ssize_t tutti_gloo_writev(int descriptor,
                                                                const struct iovec* pieces,
                                                                int count);
}

#undef GLOO_ERROR
#undef GLOO_WARN
#undef GLOO_INFO
#define GLOO_ERROR(...) ::tutti_gloo_log(1, ::gloo::MakeString(__VA_ARGS__).c_str())
#define GLOO_WARN(...) ::tutti_gloo_log(2, ::gloo::MakeString(__VA_ARGS__).c_str())
#define GLOO_INFO(...) ::tutti_gloo_log(3, ::gloo::MakeString(__VA_ARGS__).c_str())

#define writev tutti_gloo_writev
#define epoll_create(size) epoll_create1(EPOLL_CLOEXEC)
#define pipe(descriptors) pipe2(descriptors, O_CLOEXEC)
