#include "control_group.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "hash.hpp"
#include "open_descriptors.hpp"
#include "text.hpp"

namespace tutti {

namespace {

struct Group {
    std::string folder;
    bool is_version_2;
};

// The folder of a group and those of the groups above it, from the inside.
void add_groups(const std::string& mount, std::string path, bool is_version_2,
                std::vector<Group>& into) {
    // From outside of the processes' own root it looks like "/../..".
    if (path == "/" || path.find("/..") != std::string::npos) path.clear();
    while (true) {
        into.push_back({mount + path, is_version_2});
        if (path.empty()) return;
        path.resize(path.rfind('/'));
    }
}

// The groups that may limit what the controller, "cpu", counts.
std::vector<Group> groups_of(const std::string& controller, const std::string& root) {
    std::vector<Group> groups;
    const StandardPlaceholders held;
    std::ifstream file(root + "/proc/self/cgroup");
    // "0::/path" of version 2, "4:cpu,cpuacct:/path" of version 1
    for (std::string line; std::getline(file, line);) {
        const size_t first = line.find(':');
        const size_t second = line.find(':', first + 1);
        if (second == std::string::npos || line.compare(second, 2, ":/") != 0) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string path = line.substr(second + 1);
        const std::string mounts = root + "/sys/fs/cgroup";
        if (controllers.empty()) {
            add_groups(mounts, path, true, groups);
            add_groups(mounts + "/unified", path, true, groups);
        } else if (cat(",", controllers, ",").find(cat(",", controller, ",")) !=
                   std::string::npos) {
            add_groups(mounts + "/" + controller, path, false, groups);
        }
    }
    return groups;
}

// None where there is no such file or no number in it, as in "max".
template <typename Number>
std::optional<Number> read_number(const std::string& path) {
    const StandardPlaceholders held;
    Number number{};
    if (std::ifstream(path) >> number) return number;
    return std::nullopt;
}

uint64_t cached_files(const Group& group) {
    const std::string_view prefix = group.is_version_2 ? "" : "total_";
    const std::string inactive = cat(prefix, "inactive_file");
    const std::string active = cat(prefix, "active_file");
    const StandardPlaceholders held;
    std::ifstream file(group.folder + "/memory.stat");
    uint64_t sum = 0;
    uint64_t number = 0;
    for (std::string name; file >> name >> number;) {
        if (name == inactive || name == active) sum += number;
    }
    return sum;
}

std::optional<GroupLimit> limit_in(const Group& group, const std::string& name,
                                   const std::string& taken_name) {
    const auto most = read_number<uint64_t>(cat(group.folder, "/", name));
    const auto taken = read_number<uint64_t>(cat(group.folder, "/", taken_name));
    constexpr uint64_t no_limit = uint64_t{1} << 62;  // version 1 says so with a large number
    if (!most || !taken || *most >= no_limit) return std::nullopt;
    return GroupLimit{group.folder, name, *most, *taken, false};
}

// The number in "max 3", which the kernel counts where a process was refused; nothing without such
// a file.
std::optional<uint64_t> refusals_in(const std::string& path) {
    const StandardPlaceholders held;
    std::string name;
    uint64_t count = 0;
    std::ifstream(path) >> name >> count;
    return name == "max" ? std::optional(count) : std::nullopt;
}

// By its own limit. Where there is no count of that alone, the groups in it are counted as well.
bool has_refused(const std::string& group) {
    const auto own = refusals_in(group + "/pids.events.local");
    return (own ? *own : refusals_in(group + "/pids.events").value_or(0)) > 0;
}

// Cached files do not count as taken.
std::optional<GroupLimit> memory_limit_in(const Group& group) {
    auto limit = group.is_version_2
                     ? limit_in(group, "memory.max", "memory.current")
                     : limit_in(group, "memory.limit_in_bytes", "memory.usage_in_bytes");
    if (limit) limit->taken -= std::min(limit->taken, cached_files(group));
    return limit;
}

void take_tighter(std::optional<GroupLimit>& tightest, std::optional<GroupLimit> other) {
    if (other && (!tightest || other->room() < tightest->room())) tightest = std::move(other);
}

uint64_t identity(const Group& group) {
    struct stat facts {};
    if (::stat(group.folder.c_str(), &facts) != 0) return fnv1a_64(group.folder);
    return fnv1a_64(cat(facts.st_dev, " ", facts.st_ino));
}

std::optional<double> quota_in(const Group& group) {
    if (group.is_version_2) {
        // "max 100000" or "150000 100000": so much of each so many microseconds
        double quota = 0;
        double period = 0;
        const StandardPlaceholders held;
        if (!(std::ifstream(group.folder + "/cpu.max") >> quota >> period)) return std::nullopt;
        return period > 0 ? std::optional(quota / period) : std::nullopt;
    }
    const auto quota = read_number<double>(group.folder + "/cpu.cfs_quota_us");
    const auto period = read_number<double>(group.folder + "/cpu.cfs_period_us");
    if (!quota || !period || *quota < 0 || *period <= 0) return std::nullopt;
    return *quota / *period;
}

}  // namespace

MemoryRoom memory_room(const std::string& root) {
    MemoryRoom least;
    for (const Group& group : groups_of("memory", root)) {
        const auto limit = memory_limit_in(group);
        if (limit && limit->room() < least.bytes) least = {limit->room(), identity(group)};
    }
    return least;
}

std::optional<GroupLimit> memory_limit(const std::string& root) {
    std::optional<GroupLimit> tightest;
    for (const Group& group : groups_of("memory", root)) {
        take_tighter(tightest, memory_limit_in(group));
    }
    return tightest;
}

std::optional<GroupLimit> process_limit(const std::string& root) {
    std::optional<GroupLimit> tightest;
    for (const Group& group : groups_of("pids", root)) {
        take_tighter(tightest, limit_in(group, "pids.max", "pids.current"));
    }
    if (tightest) tightest->has_refused = has_refused(tightest->group);
    return tightest;
}

double processor_quota(const std::string& root) {
    double least = std::numeric_limits<double>::infinity();
    for (const Group& group : groups_of("cpu", root)) {
        least = std::min(least, quota_in(group).value_or(least));
    }
    return least;
}

}  // namespace tutti
