// The settings and the lines that are reported.
#include "report.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace tutti::cuda {

static std::string text_of(const char* name, const char* otherwise) {
    const char* value = std::getenv((std::string("TUTTI_FAKE_CUDA_") + name).c_str());
    return value != nullptr && *value != '\0' ? value : otherwise;
}

[[noreturn]] static void refuse(const char* name, const std::string& value) {
    std::fprintf(stderr, "fake_cuda: TUTTI_FAKE_CUDA_%s=%s is not understood\n", name,
                 value.c_str());
    std::abort();
}

static uint64_t number_of(const char* name, uint64_t otherwise) {
    const std::string text = text_of(name, std::to_string(otherwise).c_str());
    char* end = nullptr;
    const uint64_t value = std::strtoull(text.c_str(), &end, 10);
    if (end == text.c_str() || *end != '\0') refuse(name, text);
    return value;
}

static void read_schedule(Settings& read) {
    const std::string text = text_of("SCHEDULE", "oldest");
    if (text == "oldest") {
        read.schedule = Schedule::Oldest;
    } else if (text == "newest") {
        read.schedule = Schedule::Newest;
    } else if (text == "lazy") {
        read.schedule = Schedule::Lazy;
    } else if (text.rfind("random:", 0) == 0) {
        read.schedule = Schedule::Random;
        read.seed = std::strtoull(text.c_str() + std::strlen("random:"), nullptr, 10);
    } else {
        refuse("SCHEDULE", text);
    }
}

const Settings& settings() {
    static const Settings* const values = [] {
        auto* read = new Settings;  // lives as long as the process
        read->devices = static_cast<int>(number_of("DEVICES", 2));
        read->bytes = number_of("BYTES", size_t{4} << 30);
        read->protect = number_of("PROTECT", 1) != 0;
        read->strict = number_of("STRICT", 1) != 0;
        read->leaks = number_of("LEAKS", 0) != 0;
        read->always_context = text_of("CONTEXTS", "") == "always";
        read->report = text_of("REPORT", "");
        read->failures = text_of("FAIL", "");
        read_schedule(*read);
        return read;
    }();
    return *values;
}

// Allocates nothing: handlers of signals report, too.
void report(const char* kind, const char* text) {
    const std::string& path = settings().report;
    const int file = path.empty() ? STDERR_FILENO
                                  : open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
                                         S_IRUSR | S_IWUSR);
    const auto part = [](const char* bytes) {
        return iovec{const_cast<char*>(bytes), std::strlen(bytes)};
    };
    const iovec line[] = {part("fake_cuda: "), part(kind), part(" "), part(text), part("\n")};
    const bool written = file >= 0 && writev(file, line, std::size(line)) > 0;
    if (path.empty() || !written) std::abort();
    close(file);
}

void report(const char* kind, const std::string& text) {
    report(kind, text.c_str());
}

}  // namespace tutti::cuda
