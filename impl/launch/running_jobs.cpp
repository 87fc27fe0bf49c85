#include "running_jobs.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/first_line.hpp"

namespace tutti::launch {

namespace {

struct Seen {
    pid_t parent = 0;
    bool is_launcher = false;
};
using Processes = std::map<pid_t, Seen>;  // of this user, that live

std::string folder_of(pid_t process) {
    return cat("/proc/", process);
}

// The name of the file that a process runs; a new version may have replaced it since.
std::string program_of(const std::string& folder) {
    std::array<char, PATH_MAX> path{};
    const ssize_t size = ::readlink((folder + "/exe").c_str(), path.data(), path.size());
    std::string text(path.data(), size > 0 ? static_cast<size_t>(size) : 0);
    constexpr std::string_view replaced = " (deleted)";
    if (text.ends_with(replaced)) text.resize(text.size() - replaced.size());
    return text.substr(text.rfind('/') + 1);
}

Processes look_at_processes() {
    Processes all;
    const std::string own = program_of("/proc/self");
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
        const std::string name = entry.path().filename();
        pid_t process = 0;
        std::from_chars(name.data(), name.data() + name.size(), process);
        struct stat status = {};
        if (process == 0 || ::stat(entry.path().c_str(), &status) != 0) continue;
        if (status.st_uid != ::geteuid() || process == ::getpid()) continue;
        const std::string stat = first_line(entry.path() / "stat");
        const size_t name_end = stat.rfind(')');
        char state = 'Z';
        Seen seen;
        if (name_end == std::string::npos ||
            std::sscanf(stat.c_str() + name_end, ") %c %d", &state, &seen.parent) != 2 ||
            state == 'Z' || state == 'X') {
            continue;
        }
        seen.is_launcher = program_of(entry.path()) == own;
        all.emplace(process, seen);
    }
    return all;
}

// By its environment; nothing if it is no rank.
std::optional<int> rank_of(pid_t process) {
    std::ifstream file(folder_of(process) + "/environ");
    for (std::string entry; std::getline(file, entry, '\0');) {
        if (!entry.starts_with("RANK=")) continue;
        int rank = -1;
        std::from_chars(entry.data() + 5, entry.data() + entry.size(), rank);
        if (rank >= 0) return rank;
    }
    return std::nullopt;
}

bool uses_tutti(pid_t process) {
    std::ifstream file(folder_of(process) + "/maps");
    for (std::string line; std::getline(file, line);) {
        if (line.find("/libtutti.so") != std::string::npos) return true;
    }
    return false;
}

// The first at or below `top` that uses the library; nothing if none does.
std::optional<pid_t> find_user(const Processes& all, pid_t top) {
    if (uses_tutti(top)) return top;
    for (const auto& [process, seen] : all) {
        if (seen.parent != top) continue;
        if (const auto found = find_user(all, process)) return found;
    }
    return std::nullopt;
}

std::string list(const RunningJob& job) {
    std::string text;
    for (const RunningRank& one : job.ranks) text += cat(text.empty() ? "" : ", ", one.rank);
    return text;
}

}  // namespace

std::vector<RunningJob> find_running_jobs() {
    const Processes all = look_at_processes();
    std::map<pid_t, RunningJob> jobs;
    for (const auto& [process, seen] : all) {
        const auto parent = all.find(seen.parent);
        if (seen.is_launcher || parent == all.end() || !parent->second.is_launcher) continue;
        const auto rank = rank_of(process);
        if (!rank) continue;
        RunningJob& job = jobs[seen.parent];
        job.launcher = seen.parent;
        job.ranks.push_back({*rank, find_user(all, process).value_or(process)});
    }
    std::vector<RunningJob> found;
    for (auto& [launcher, job] : jobs) {
        std::ranges::sort(job.ranks, {}, &RunningRank::rank);
        found.push_back(std::move(job));
    }
    return found;
}

RunningJob choose_job(std::optional<pid_t> launcher) {
    const auto jobs = find_running_jobs();
    if (launcher) {
        const auto found = std::ranges::find(jobs, *launcher, &RunningJob::launcher);
        if (found != jobs.end()) return *found;
        refuse("process ", *launcher, " is no tuttirun of this user with living ranks");
    }
    if (jobs.size() == 1) return jobs.front();
    if (jobs.empty()) refuse("no job of this user runs on this host");
    std::string text;
    for (const RunningJob& job : jobs) {
        text += cat(text.empty() ? "" : "; ", job.launcher, " (ranks ", list(job), ")");
    }
    refuse("several jobs run, name one by the process of its tuttirun with --job: ", text);
}

RunningRank choose_rank(const RunningJob& job, int rank) {
    const auto found = std::ranges::find(job.ranks, rank, &RunningRank::rank);
    if (found != job.ranks.end()) return *found;
    refuse("rank ", rank, " does not run on this host; of the job of process ", job.launcher,
           " these do: ", list(job));
}

}  // namespace tutti::launch
