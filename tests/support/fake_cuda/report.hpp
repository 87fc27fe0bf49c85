// The reports of the double, and its settings from the environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tutti::cuda {

enum class Schedule { Oldest, Newest, Lazy, Random };

struct Settings {
    int devices = 2;
    size_t bytes = size_t{4} << 30;  // of each device
    Schedule schedule = Schedule::Oldest;
    uint64_t seed = 1;
    bool protect = true;          // pinned memory that the device uses cannot be touched
    bool strict = true;           // calls that the driver refuses are reported
    bool leaks = false;           // what is left at exit is reported
    bool always_context = false;  // every call needs a current context, as in old drivers
    std::string report;           // the file; none: standard error, and the process aborts
    std::string failures;         // "cuMemcpyAsync:3:700,..."
};

// The settings of this process, read once.
const Settings& settings();

// One line "fake_cuda: KIND text". Without a file for reports this does not return.
void report(const char* kind, const std::string& text);
void report(const char* kind, const char* text);

}  // namespace tutti::cuda
