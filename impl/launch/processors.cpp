// Counting processors and GPUs. Any thread.
#include "processors.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "limits.hpp"

namespace tutti::launch {

namespace {

// Not through environment(): set but empty means that no GPU is to be used.
std::optional<std::string> visible_gpus() {
    const char* value = std::getenv("CUDA_VISIBLE_DEVICES");
    if (value == nullptr) return std::nullopt;
    return value;
}

bool is_gpu(const std::string& file) {
    constexpr std::string_view start = "nvidia";
    return file.size() > start.size() && file.starts_with(start) &&
           std::all_of(file.begin() + start.size(), file.end(),
                       [](char digit) { return digit >= '0' && digit <= '9'; });
}

int count_visible(const std::string& list) {
    int count = 0;
    for (size_t start = 0; start < list.size();) {
        const auto end = std::min(list.find(',', start), list.size());
        if (list[start] == '-' || end == start) break;
        ++count;
        start = end + 1;
    }
    return count;
}

}  // namespace

int count_processors() {
    // Larger masks than a cpu_set_t has room for are rare, and then the affinity is not known.
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
    return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

int count_gpus(const std::string& devices, const std::optional<std::string>& visible) {
    if (visible) return count_visible(*visible);
    std::error_code fault;
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(devices, fault)) {
        if (is_gpu(entry.path().filename().string())) ++count;
    }
    return count;
}

int parse_process_count(const std::string& text, const std::string& what) {
    if (text == "cpu") return count_processors();
    if (text == "gpu" || text == "auto") {
        const int gpus = count_gpus("/dev", visible_gpus());
        if (gpus > 0) return gpus;
        if (text == "auto") return count_processors();
        throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat(what, " is \"gpu\", and there is none"));
    }
    try {
        return static_cast<int>(parse_number(text, what, 1, limits::processes));
    } catch (const Error& error) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat(error.what(), ", cpu, gpu or auto"));
    }
}

}  // namespace tutti::launch
