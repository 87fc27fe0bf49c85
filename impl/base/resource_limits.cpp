#include "resource_limits.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

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

std::string thread_text() {
    std::string text;
    if (const auto count = limit_of(RLIMIT_NPROC)) {
        add(text, cat("this user may have ", *count, " processes and threads (ulimit -u)"));
    }
    if (const auto space = address_space_text(); !space.empty()) add(text, space);
    return text;
}

// With the limits that may be behind an errno.
Error exhaustion(std::string_view what, int number, int limits_of, int rank) {
    std::string text = cat(what, ": ", errno_text(number));
    if (const std::string limit = limit_text(limits_of); !limit.empty()) text += cat(": ", limit);
    return Error(Status{TUTTI_ERR_OUT_OF_MEMORY, rank, number, std::move(text), true});
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
            return address_space_text();
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
    if (is_exhaustion(number)) return exhaustion(what, number, number, rank);
    return {otherwise, cat(what, ": ", errno_text(number)), rank, number};
}

Error thread_error(std::string_view what, int number) {
    return exhaustion(what, number, EAGAIN, -1);
}

void check_file_size(uint64_t bytes, std::string_view what) {
    const auto most = limit_of(RLIMIT_FSIZE);
    if (most && bytes > *most) throw exhaustion(what, EFBIG, EFBIG, -1);
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
