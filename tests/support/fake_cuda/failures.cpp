// Which call fails, and with what.
#include "failures.hpp"

#include "model.hpp"
#include "report.hpp"

#include <map>
#include <sstream>
#include <string>

namespace tutti::cuda {

namespace {

struct Failure {
    uint64_t calls = 0;  // until it fails
    int code = 0;
};

std::multimap<std::string, Failure> read() {
    std::multimap<std::string, Failure> failures;
    std::istringstream list(settings().failures);
    for (std::string item; std::getline(list, item, ',');) {
        std::istringstream parts(item);
        std::string name;
        Failure failure;
        char colon = 0;
        std::getline(parts, name, ':');
        parts >> failure.calls >> colon >> failure.code;
        if (!parts || colon != ':') report("MISUSE", "TUTTI_FAKE_CUDA_FAIL has a part " + item);
        failures.emplace(name, failure);
    }
    return failures;
}

// The fault of a kernel, after which nothing works any more in this process.
bool ruins(int code) {
    return code == 700 || code == 702 || code == 710 || (code >= 714 && code <= 719);
}

}  // namespace

Result injected_failure(const char* name) {
    static auto* const failures = new std::multimap<std::string, Failure>(read());
    const auto [first, last] = failures->equal_range(name);
    for (auto each = first; each != last; ++each) {
        Failure& failure = each->second;
        if (failure.calls == 0 || --failure.calls > 0) continue;
        if (ruins(failure.code)) model().sticky = Result{failure.code};
        return Result{failure.code};
    }
    return Result::Success;
}

}  // namespace tutti::cuda
