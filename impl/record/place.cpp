#include "place.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/open_descriptors.hpp"

namespace tutti::record {

namespace fs = std::filesystem;

namespace {

constexpr auto kept_for = std::chrono::hours(24);
constexpr size_t most_left = 100;

std::string host_name() {
    std::array<char, 65> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) return "host";
    return name.data();
}

// A folder that only this user can write, or make others believe to be his.
bool is_own(const std::string& path) {
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
    return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::optional<std::string> made(const std::string& path) {
    constexpr mode_t of_the_user = 0700;
    if (mkdir(path.c_str(), of_the_user) != 0 && errno != EEXIST) return std::nullopt;
    if (!is_own(path)) return std::nullopt;
    return path;
}

// The process in "HOST.PID.ring", or in "job-PID"; 0: it is no such name.
pid_t process_in(const fs::path& path) {
    const std::string name =
        path.extension() == suffix ? path.stem().extension().string() : path.filename().string();
    const size_t mark = name.find_first_of(".-");
    if (mark == std::string::npos) return 0;
    pid_t process = 0;
    const char* const end = name.data() + name.size();
    const auto [stop, fault] = std::from_chars(name.data() + mark + 1, end, process);
    return fault == std::errc{} && stop == end ? process : 0;
}

bool has_ended(const fs::path& path) {
    const pid_t process = process_in(path);
    return process > 0 && kill(process, 0) != 0 && errno == ESRCH;
}

}  // namespace

std::optional<std::string> run_time_folder() {
    if (const auto given = environment("XDG_RUNTIME_DIR"); given && is_own(*given)) {
        if (auto folder = made(cat(*given, "/tutti"))) return folder;
    }
    return made(cat("/dev/shm/tutti-", geteuid()));
}

Place new_place() {
    const std::string name = cat(host_name(), ".", getpid(), suffix);
    if (const auto given = environment(folder_variable)) {
        std::error_code why;
        fs::create_directories(*given, why);
        if (why) throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat(*given, ": ", why.message()));
        return {cat(*given, "/", name), false};
    }
    const auto folder = run_time_folder();
    if (!folder) throw Error(TUTTI_ERR_UNSUPPORTED, "this user has no run-time folder");
    clean(*folder);
    return {cat(*folder, "/", name), true};
}

void clean(const std::string& folder) noexcept {
    try {
        const StandardPlaceholders held;
        const auto now = fs::file_time_type::clock::now();
        std::vector<std::pair<fs::file_time_type, fs::path>> left;
        for (const auto& file : fs::directory_iterator(folder)) {
            if (has_ended(file.path())) left.emplace_back(file.last_write_time(), file.path());
        }
        std::ranges::sort(left, std::greater<>());
        for (size_t i = 0; i < left.size(); ++i) {
            std::error_code ignored;
            const bool is_old = now - left[i].first > kept_for;
            if (is_old || i >= most_left) fs::remove_all(left[i].second, ignored);
        }
    } catch (...) {  // another process is at it
    }
}

}  // namespace tutti::record
