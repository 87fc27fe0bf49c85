// Counting processors and GPUs. Any thread.
#include "processors.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
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

ProcessorSet allowed_processors() {
    constexpr size_t most_blocks = 1'024;
    // The kernel refuses a mask in which not all its processors have room.
    for (size_t blocks = 1; blocks <= most_blocks; blocks *= 2) {
        std::vector<cpu_set_t> mask(blocks);
        const size_t bytes = blocks * sizeof(cpu_set_t);
        if (::sched_getaffinity(0, bytes, mask.data()) != 0) {
            if (errno != EINVAL) break;
            continue;
        }
        ProcessorSet allowed;
        for (size_t number = 0; number < blocks * CPU_SETSIZE; ++number) {
            if (CPU_ISSET_S(number, bytes, mask.data())) {
                allowed.push_back(static_cast<int>(number));
            }
        }
        return allowed;
    }
    return {};
}

int count_processors() {
    const size_t allowed = allowed_processors().size();
    if (allowed > 0) return static_cast<int>(allowed);
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
