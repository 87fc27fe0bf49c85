// A pidfd tells of the end. What the scheduler has counted for the thread tells whether it runs:
// unlike its state, that also shows one in a frozen control group, which looks asleep. Both are
// kept open, so they stay with the thread even when its number is given to another.
#include "process_watch.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/first_line.hpp"
#include "descriptor.hpp"
#include "readable.hpp"

namespace tutti::net {

namespace {

#ifndef SYS_pidfd_open
constexpr long SYS_pidfd_open = 434;  // the same for all processors
#endif

std::string folder_of(const ThreadId& id) {
    return cat("/proc/", id.process, "/task/", id.thread);
}

struct Stat {
    char state = 0;
    uint64_t started = 0;
};

// "12 (any name) S 1 ...": what follows the name, which may have parentheses itself.
Stat read_stat(const std::string& folder) {
    constexpr int fields_between = 18;  // from the state to the start
    const std::string line = first_line(folder + "/stat");
    const size_t name_end = line.rfind(')');
    if (name_end == std::string::npos) return {};
    std::istringstream fields(line.substr(name_end + 1));
    Stat stat;
    fields >> stat.state;
    std::string skipped;
    for (int field = 0; field < fields_between; ++field) fields >> skipped;
    fields >> stat.started;
    return stat;
}

int open_counts(const ThreadId& id) {
    const std::string path = folder_of(id) + "/schedstat";
    return open_tracked([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
}

// "time-on-processors time-in-queue times": of a kernel that does not count, zeros.
using Counts = std::array<char, 96>;
bool read_counts(int descriptor, Counts& counts) {
    counts.fill(0);
    return ::pread(descriptor, counts.data(), counts.size() - 1, 0) > 0 &&
           std::string_view(counts.data()) != "0 0 0\n";
}

ThreadId find_this_thread() {
    ThreadId id;
    id.process = ::getpid();
    id.thread = static_cast<int32_t>(::syscall(SYS_gettid));
    // /proc may be that of another namespace.
    char own[32] = "";
    struct stat numbers = {};
    if (::readlink("/proc/self", own, sizeof own - 1) <= 0 || own != std::to_string(id.process) ||
        ::stat("/proc/self/ns/pid", &numbers) != 0) {
        return {};
    }
    id.numbering = numbers.st_ino;
    id.started = read_stat(folder_of(id)).started;
    const Descriptor pidfd(open_pidfd(id.process));
    const Descriptor file(open_counts(id));
    Counts counts;
    const bool can = pidfd.valid() && file.valid() && read_counts(file.get(), counts);
    return can && id.started != 0 ? id : ThreadId{};
}

}  // namespace

int open_pidfd(int32_t process) {
    return open_tracked([&] { return static_cast<int>(::syscall(SYS_pidfd_open, process, 0U)); });
}

ThreadId this_thread() {
    try {
        return find_this_thread();
    } catch (const Error&) {  // no descriptor left to look with
        return {};
    }
}

struct ThreadWatch::Core {
    ThreadId id;
    Descriptor file;
    Counts counts{};
    std::function<void()> ended;
    std::shared_ptr<Readable> pidfd;
};

ThreadWatch::ThreadWatch(Loop& loop, const ThreadId& of, std::function<void()> ended)
    : core_(std::make_unique<Core>()) {
    const auto must = [&](bool can) {
        if (can) return;
        if (is_exhaustion(errno)) {
            throw system_error(TUTTI_ERR_UNSUPPORTED, cat("watching process ", of.process), errno);
        }
        throw Error(TUTTI_ERR_UNSUPPORTED, cat("process ", of.process, " cannot be watched"));
    };
    core_->id = of;
    core_->ended = std::move(ended);
    errno = 0;
    Descriptor pidfd(open_pidfd(of.process));
    must(pidfd.valid());
    core_->file = Descriptor(open_counts(of));
    must(core_->file.valid() && read_counts(core_->file.get(), core_->counts));
    // Both are open: from now on it is one and the same, if it is the right one.
    must(read_stat(folder_of(of)).started == of.started);
    core_->pidfd = Readable::make(
        loop, std::move(pidfd),
        [core = core_.get()] {
            core->pidfd->stop();
            core->ended();
        },
        "watching a process");
}

ThreadWatch::~ThreadWatch() {
    core_->pidfd->close();
}

bool ThreadWatch::has_run() {
    Counts now;
    if (!read_counts(core_->file.get(), now) || now == core_->counts) return false;
    core_->counts = now;
    return true;
}

bool ThreadWatch::wants_to_run() const {
    try {
        return read_stat(folder_of(core_->id)).state == 'R';
    } catch (const Error&) {  // no descriptor left to look with
        return true;
    }
}

bool ThreadWatch::is_held() const {
    try {
        return read_stat(folder_of(core_->id)).state == 't';
    } catch (const Error&) {  // no descriptor left to look with
        return false;
    }
}

}  // namespace tutti::net
