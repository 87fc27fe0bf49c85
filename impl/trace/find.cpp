// Where records are: the files of a folder, and the newest job of this user.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/environment.hpp"
#include "base/text.hpp"
#include "job.hpp"
#include "record/place.hpp"

namespace tutti::trace {

namespace {

namespace files = std::filesystem;

constexpr const char* job_prefix = "job-";

std::vector<std::string> rings_in(const files::path& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (files::directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error)) {
        if (at->path().extension() == record::suffix) names.push_back(at->path().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<files::path> roots() {
    std::vector<files::path> all;
    if (const auto runtime = environment("XDG_RUNTIME_DIR")) {
        all.push_back(files::path(*runtime) / "tutti");
    }
    all.emplace_back(cat("/dev/shm/tutti-", ::getuid()));
    return all;
}

// Records of programs that no launcher has started lie beside each other: those that belong to the
// newest are of the same program and size, and either live like it or began at about its time.
std::vector<std::string> newest_loose(const std::vector<std::string>& names, int64_t& opened) {
    constexpr int64_t minute = 60'000'000'000;
    const Clock clock = Clock::now();
    std::vector<Recording> all;
    for (const std::string& name : names) {
        try {
            all.push_back(read_recording(name, clock));
        } catch (const BadRecord&) {
            continue;  // it may be of an older version
        }
    }
    const auto newest = std::max_element(
        all.begin(), all.end(),
        [](const Recording& a, const Recording& b) { return a.opened < b.opened; });
    std::vector<std::string> chosen;
    if (newest == all.end()) return chosen;
    opened = newest->opened;
    for (const Recording& one : all) {
        const bool is_alike =
            one.program == newest->program && one.world_size == newest->world_size;
        if (is_alike && newest->opened - one.opened <= minute) chosen.push_back(one.file);
    }
    return chosen;
}

int64_t opened_last(const std::vector<std::string>& names, const Clock& clock) {
    int64_t last = 0;
    for (const std::string& name : names) {
        try {
            last = std::max(last, read_recording(name, clock).opened);
        } catch (const BadRecord&) {
            continue;
        }
    }
    return last;
}

}  // namespace

std::vector<std::string> record_files(const std::vector<std::string>& folders_or_files) {
    std::vector<std::string> names;
    for (const std::string& place : folders_or_files) {
        std::error_code error;
        if (!files::is_directory(place, error)) {
            names.push_back(place);
            continue;
        }
        const auto inside = rings_in(place);
        names.insert(names.end(), inside.begin(), inside.end());
    }
    return names;
}

std::vector<std::string> newest_job() {
    const Clock clock = Clock::now();
    std::vector<std::string> newest;
    int64_t latest = -1;
    const auto offer = [&](std::vector<std::string> names, int64_t opened) {
        if (names.empty() || opened <= latest) return;
        latest = opened;
        newest = std::move(names);
    };
    for (const files::path& root : roots()) {
        int64_t opened = 0;
        auto loose = newest_loose(rings_in(root), opened);
        offer(std::move(loose), opened);
        std::error_code error;
        for (files::directory_iterator at(root, error), end; !error && at != end;
             at.increment(error)) {
            std::error_code none;
            if (!at->path().filename().string().starts_with(job_prefix)) continue;
            if (!at->is_directory(none)) continue;
            auto names = rings_in(at->path());
            const int64_t last = opened_last(names, clock);
            offer(std::move(names), last);
        }
    }
    return newest;
}

}  // namespace tutti::trace
