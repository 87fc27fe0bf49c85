#include "tuning.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/environment.hpp"
#include "base/error.hpp"

namespace tutti::shm {

namespace {

constexpr const char* variable = "TUTTI_SHM_ALGORITHMS";
constexpr std::array<std::string_view, operation_kinds> op_names{
    "broadcast",  "all_reduce", "reduce",  "reduce_scatter", "all_gather",
    "all_to_all", "gather",     "scatter", "message"};
constexpr std::array<std::string_view, 4> way_names{"by_size", "staged", "everyone", "direct"};

template <size_t count>
size_t find(const std::array<std::string_view, count>& names, std::string_view name) {
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return static_cast<size_t>(found - names.begin());
    std::string known;
    for (const std::string_view one : names) known += cat(known.empty() ? "" : ", ", one);
    throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat("environment variable ", variable, " has \"", name,
                                                "\", which is none of ", known));
}

}  // namespace

const char* name_of(OperationKind op) {
    return op_names[static_cast<size_t>(op)].data();
}

Algorithms algorithms_from_environment() {
    Algorithms algorithms{};
    const std::string text = environment(variable).value_or("");
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find(',', at), text.size());
        const std::string_view one = std::string_view(text).substr(at, end - at);
        const size_t equals = std::min(one.find('='), one.size());
        const size_t op = find(op_names, one.substr(0, equals));
        algorithms[op] = Algorithm{
            static_cast<uint8_t>(find(way_names, one.substr(std::min(equals + 1, one.size()))))};
        at = end + 1;
    }
    return algorithms;
}

}  // namespace tutti::shm
