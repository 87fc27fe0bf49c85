#include "settings.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "library.hpp"

namespace tutti::nccl {

namespace {

struct Setting {
    std::string_view name;
    int Config::*place;  // null: none of NCCL's
    int least, most;
};
constexpr Setting settings_known[] = {
    {"blocking", &Config::blocking, 0, 1},
    {"cga_cluster_size", &Config::cga_cluster_size, 0, 8},
    {"is_high_priority_stream", nullptr, 0, 1},
    {"max_ctas", &Config::max_ctas, 1, 64},
    {"min_ctas", &Config::min_ctas, 1, 64},
    {"split_share", &Config::split_share, 0, 1},
    {"traffic_class", &Config::traffic_class, 0, 255},
};

[[noreturn]] void refuse(const std::string& why) {
    throw Failure{TUTTI_ERR_INVALID_ARGUMENT, 0, "nccl " + why};
}

void read(std::string_view item, Settings& settings) {
    const size_t middle = std::min(item.find('='), item.size());
    const std::string_view name = item.substr(0, middle);
    const auto* const found = std::ranges::find(settings_known, name, &Setting::name);
    if (found == std::end(settings_known)) {
        refuse("has no setting \"" + std::string(name) + "\"");
    }
    const std::string_view text = item.substr(std::min(middle + 1, item.size()));
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc{} && end == text.data() + text.size();
    if (!is_number || value < found->least || value > found->most) {
        refuse("has " + std::string(name) + "=" + std::string(text) + ", which must be " +
               std::to_string(found->least) + " to " + std::to_string(found->most));
    }
    if (found->place != nullptr) {
        settings.config.*found->place = value;
    } else {
        settings.is_high_priority_stream = value == 1;
    }
}

// NCCL 2.26 hangs if it is not to block.
int blocking_of(int version) {
    const char* const given = std::getenv("TUTTI_NCCL_BLOCKING");
    if (given != nullptr && *given != '\0') return std::strcmp(given, "0") == 0 ? 0 : 1;
    return version / 100 == 226 ? 1 : 0;
}

}  // namespace

Settings settings_of(const char* text, int version) {
    Settings settings;
    settings.config.version = std::min(static_cast<unsigned>(version), settings.config.version);
    settings.config.blocking = blocking_of(version);
    for (std::string_view rest = text; !rest.empty();) {
        const size_t end = std::min(rest.find('&'), rest.size());
        if (end > 0) read(rest.substr(0, end), settings);
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return settings;
}

}  // namespace tutti::nccl
