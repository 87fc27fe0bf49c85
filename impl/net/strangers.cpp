#include "strangers.hpp"

#include <dirent.h>
#include <sys/resource.h>

#include <cstdint>
#include <memory>

#include "base/open_descriptors.hpp"

namespace tutti::net {

namespace {

// Fewer would close clients that have just come and are about to say who they are.
constexpr size_t least = 16;
constexpr size_t most = 1024;

struct CloseFolder {
    void operator()(DIR* folder) const { ::closedir(folder); }
};

}  // namespace

size_t free_descriptors() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return SIZE_MAX;
    }
    const StandardPlaceholders held;
    const std::unique_ptr<DIR, CloseFolder> folder(::opendir("/proc/self/fd"));
    if (!folder) return 0;
    size_t open = 0;
    while (const dirent* entry = ::readdir(folder.get())) {
        if (entry->d_name[0] != '.') ++open;
    }
    --open;  // the folder's own
    return limit.rlim_cur > open ? limit.rlim_cur - open : 0;
}

size_t most_strangers() {
    return std::clamp(free_descriptors() / 4, least, most);
}

}  // namespace tutti::net
