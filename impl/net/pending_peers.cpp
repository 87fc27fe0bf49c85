#include "pending_peers.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>

#include "base/open_descriptors.hpp"

namespace tutti::net {

namespace {

// Fewer would close clients that have just come and are about to say who they are.
constexpr size_t least = 16;
constexpr size_t most = 1024;

// Without /proc only the lowest are looked at, since each takes a call.
constexpr size_t max_looks = 4096;

struct CloseFolder {
    void operator()(DIR* folder) const { ::closedir(folder); }
};

size_t open_descriptors(size_t limit) {
    const StandardPlaceholders held;
    size_t open = 0;
    if (const std::unique_ptr<DIR, CloseFolder> folder(::opendir("/proc/self/fd")); folder) {
        while (const dirent* entry = ::readdir(folder.get())) {
            if (entry->d_name[0] != '.') ++open;
        }
        return open - 1;  // without the folder's own
    }
    if (errno == EMFILE) return limit;
    for (size_t descriptor = 0; descriptor < std::min(limit, max_looks); ++descriptor) {
        if (::fcntl(static_cast<int>(descriptor), F_GETFD) >= 0) ++open;
    }
    return open;
}

}  // namespace

size_t free_descriptors() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return SIZE_MAX;
    }
    const size_t open = open_descriptors(limit.rlim_cur);
    return limit.rlim_cur > open ? limit.rlim_cur - open : 0;
}

size_t max_strangers() {
    return std::clamp(free_descriptors() / 4, least, most);
}

}  // namespace tutti::net
