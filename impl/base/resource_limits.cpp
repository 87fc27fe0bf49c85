#include "resource_limits.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>

#include "control_group.hpp"
#include "first_line.hpp"
#include "open_descriptors.hpp"

namespace tutti {

namespace {

constexpr std::array exhaustions{ENFILE, EMFILE, ENOBUFS, ENOMEM};  // ENFILE's words have EMFILE's

// Nothing if there is none.
std::optional<uint64_t> limit_of(__rlimit_resource resource) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
    return limit.rlim_cur;
}

void add(std::string& text, const std::string& piece) {
    text += cat(text.empty() ? "" : ", ", piece);
}

// As a shell's ulimit counts.
std::string kibibytes(uint64_t bytes) {
    return cat(bytes / 1024, " KiB");
}

std::string address_space_text() {
    const auto bytes = limit_of(RLIMIT_AS);
    if (!bytes) return "";
    return cat("this process may have ", kibibytes(*bytes), " of address space (ulimit -v)");
}

std::string memory_text() {
    std::string text = address_space_text();
    if (const auto limit = memory_limit()) {
        add(text, cat("the control group ", limit->group, " may have ", kibibytes(limit->most),
                      " of memory (", limit->name, ")"));
    }
    return text;
}

uint64_t number_in(const char* path) {
    const StandardPlaceholders held;
    uint64_t number = 0;
    std::ifstream(path) >> number;
    return number;
}

// All of the system: "0.00 0.01 0.05 1/123 4567", of which 123.
uint64_t threads_of_system() {
    unsigned long long count = 0;
    const std::string load = first_line("/proc/loadavg");
    return std::sscanf(load.c_str(), "%*s %*s %*s %*u/%llu", &count) == 1 ? count : 0;
}

std::string system_text() {
    constexpr uint64_t nearly = 8;  // some may have ended since
    const uint64_t count = threads_of_system();
    for (const char* name : {"threads-max", "pid_max"}) {
        const uint64_t most = number_in(cat("/proc/sys/kernel/", name).c_str());
        if (most == 0 || count + nearly < most) continue;
        return cat("this system may have ", most, " processes and threads (sysctl kernel.", name,
                   ")");
    }
    return "";
}

// The limit that is seen to be reached; else all that are set.
std::string process_text() {
    std::string text;
    if (const auto limit = process_limit()) {
        text = cat("the control group ", limit->group, " may have ", limit->most,
                   " processes and threads (", limit->name, ")");
        if (limit->room() == 0 || limit->has_refused) return text;  // some may have ended since
    }
    if (std::string full = system_text(); !full.empty()) return full;
    if (const auto count = limit_of(RLIMIT_NPROC)) {
        add(text, cat("this user may have ", *count, " processes and threads (ulimit -u)"));
    }
    return text;
}

// If the memory for it cannot be had. The C library says of that what it says of too many threads.
std::string stack_text() {
    pthread_attr_t standard;
    size_t bytes = 0;
    if (pthread_attr_init(&standard) != 0) return "";
    (void)pthread_attr_getstacksize(&standard, &bytes);
    pthread_attr_destroy(&standard);
    void* const stack = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) {
        return cat("there is no room for its stack of ", kibibytes(bytes), " (ulimit -s)");
    }
    ::munmap(stack, bytes);
    return "";
}

std::string thread_text() {
    std::string text = stack_text();
    const bool has_room = text.empty();
    if (has_room) text = process_text();
    if (const auto space = address_space_text(); !space.empty()) add(text, space);
    return text;
}

// OUT_OF_MEMORY with the limits that may be behind it.
Error exhaustion(std::string_view what, int number, const std::string& limit, int rank) {
    std::string text = cat(what, ": ", errno_text(number));
    if (!limit.empty()) text += cat(": ", limit);
    return Error(Status{TUTTI_ERR_OUT_OF_MEMORY, rank, number, std::move(text), true});
}

// A system that lacks a call, or has it filtered, says one or the other.
bool is_refusal(int number) {
    return number == EPERM || number == ENOSYS;
}

}  // namespace

bool is_exhaustion(int number) noexcept {
    for (const int one : exhaustions) {
        if (one == number) return true;
    }
    return false;
}

void blame_own_exhaustion(Status& status, int own_rank) {
    // A status that others reported already names its rank.
    const bool is_unmarked = status.code == TUTTI_ERR_OUT_OF_MEMORY && status.rank < 0;
    if (!status.is_own_exhaustion && !is_unmarked) return;
    status.rank = own_rank;
    // Where a process or thread could not be started, it is named by what was seen then.
    if (status.is_own_exhaustion && status.system_errno == EAGAIN) return;
    const std::string limit = limit_text(status.system_errno);
    if (status.message.find(limit) == std::string::npos) status.message += cat(": ", limit);
}

std::string limit_text(int number) {
    switch (number) {
        case EMFILE: {
            const auto most = limit_of(RLIMIT_NOFILE);
            return most ? cat("this process may have ", *most, " open files (ulimit -n)") : "";
        }
        case ENFILE:
            return "this system may have no more open files (sysctl fs.file-max)";
        case ENOMEM:
            return memory_text();
        case EAGAIN:
            return thread_text();
        case EFBIG: {
            const auto most = limit_of(RLIMIT_FSIZE);
            return most ? cat("this process may make files of ", kibibytes(*most), " (ulimit -f)")
                        : "";
        }
        default:
            return "";
    }
}

Error system_error(tutti_status otherwise, std::string_view what, int number, int rank) {
    if (is_exhaustion(number)) return exhaustion(what, number, limit_text(number), rank);
    return {otherwise, cat(what, ": ", errno_text(number)), rank, number};
}

Error call_error(std::string_view call, std::string_view what, int number, int rank) {
    if (!is_refusal(number)) return system_error(TUTTI_ERR_OUT_OF_MEMORY, what, number, rank);
    return {TUTTI_ERR_UNSUPPORTED,
            cat(what, ": this system, or what confines this process, refuses ", call, ": ",
                errno_text(number)),
            rank, number};
}

Error thread_error(std::string_view what, int number) {
    if (is_refusal(number)) return call_error("clone3", what, number);
    return exhaustion(what, number, thread_text(), -1);
}

Error process_error(std::string_view what, int number, int rank) {
    if (is_refusal(number)) return call_error("clone", what, number, rank);
    return exhaustion(what, number, number == EAGAIN ? process_text() : limit_text(number), rank);
}

void check_file_size(uint64_t bytes, std::string_view what) {
    const auto most = limit_of(RLIMIT_FSIZE);
    if (most && bytes > *most) throw exhaustion(what, EFBIG, limit_text(EFBIG), -1);
}

int exhaustion_of_descriptors(int count) noexcept {
    if (count == 0) return 0;
    const StandardPlaceholders held;
    const int probe = ::open("/", O_PATH | O_CLOEXEC);
    if (probe < 0) return is_exhaustion(errno) ? errno : 0;
    const int number = exhaustion_of_descriptors(count - 1);
    ::close(probe);
    return number;
}

bool has_spare_descriptors(int count) noexcept {
    const StandardPlaceholders held;
    const int lowest = ::open("/", O_PATH | O_CLOEXEC);
    if (lowest < 0) return false;
    ::close(lowest);
    const auto most = limit_of(RLIMIT_NOFILE);
    return !most || static_cast<uint64_t>(lowest) + static_cast<uint64_t>(count) < *most;
}

int exhaustion_in(std::string_view text) {
    for (const int number : exhaustions) {
        char buffer[128];
        if (text.find(strerror_r(number, buffer, sizeof buffer)) != text.npos) return number;
    }
    return 0;
}

}  // namespace tutti
