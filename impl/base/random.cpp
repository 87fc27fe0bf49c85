// getrandom; where a filter of system calls refuses it, the file that has the same numbers.
#include "random.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>

#include "open_descriptors.hpp"
#include "resource_limits.hpp"

namespace tutti {

namespace {

constexpr const char* random_file = "/dev/urandom";

// Returns what is left to fill; `fill` is like read().
template <typename Fill>
std::span<std::byte> fill_by(std::span<std::byte> bytes, Fill&& fill) {
    while (!bytes.empty()) {
        const ssize_t count = fill(bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        bytes = bytes.subspan(static_cast<size_t>(count));
    }
    return bytes;
}

}  // namespace

void fill_with_random(std::span<std::byte> bytes) {
    bytes = fill_by(bytes, [](void* to, size_t size) { return ::getrandom(to, size, 0); });
    if (bytes.empty()) return;
    const int refusal = errno;
    const int file = open_tracked([] { return ::open(random_file, O_RDONLY | O_CLOEXEC); });
    if (file < 0 && is_exhaustion(errno)) throw call_error("open", "reading /dev/urandom", errno);
    if (file >= 0) {
        bytes = fill_by(bytes, [file](void* to, size_t size) { return ::read(file, to, size); });
        close_tracked(file);
    }
    if (bytes.empty()) return;
    throw call_error("getrandom", cat("there are no random numbers, in ", random_file, " neither"),
                     refusal);
}

}  // namespace tutti
