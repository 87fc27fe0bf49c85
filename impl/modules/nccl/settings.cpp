#include "settings.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "library.hpp"

namespace tutti::nccl {

namespace {

struct Setting {
    std::string_view name;
    int Config::*place;  // null: none of NCCL's
    int least, most;
    int since = oldest_version;  // the version of NCCL that has it
    bool Settings::*own = nullptr;
};
constexpr Setting settings_known[] = {
    {"blocking", &Config::blocking, 0, 1},
    {"cga_cluster_size", &Config::cga_cluster_size, 0, 8},
    {"channels_per_net_peer", &Config::channels_per_net_peer, 1, 64, 22800},
    {"collnet_enable", &Config::collnet_enable, 0, 1, 22700},
    {"cta_policy", &Config::cta_policy, 0, 3, 22700},
    {"is_high_priority_stream", nullptr, 0, 1, oldest_version, &Settings::is_high_priority_stream},
    {"max_ctas", &Config::max_ctas, 1, 64},
    {"min_ctas", &Config::min_ctas, 1, 64},
    {"nvlink_centric_sched", &Config::nvlink_centric_sched, 0, 1, 22800},
    {"nvls_ctas", &Config::nvls_ctas, 1, 64, 22700},
    {"split_share", &Config::split_share, 0, 1},
    {"symmetric", nullptr, 0, 1, oldest_version, &Settings::symmetric},
    {"traffic_class", &Config::traffic_class, 0, 255, 22600},
};

// NCCL keeps the pointer to the name of a communicator, and so do profilers that it loads, as long
// as any of them likes. The same texts come again and again.
const char* kept(std::string_view text) {
    static auto& mutex = *new std::mutex;
    static auto& texts = *new std::set<std::string, std::less<>>;
    const std::lock_guard lock(mutex);
    auto found = texts.find(text);
    if (found == texts.end()) found = texts.emplace(text).first;
    return found->c_str();
}

[[noreturn]] void refuse(const std::string& why) {
    throw Failure{TUTTI_ERR_INVALID_ARGUMENT, 0, "nccl " + why};
}

// A policy may be newer than the setting.
int since(const Setting& setting, int value) {
    if (setting.place != &Config::cta_policy || value < 2) return setting.since;
    return value == 2 ? 22800 : 22900;
}

// NCCL would ignore it.
void check_version(const Setting& setting, int value, int version) {
    const int needed = since(setting, value);
    if (version >= needed) return;
    throw Failure{TUTTI_ERR_UNSUPPORTED, 0,
                  "nccl has " + std::string(setting.name) + "=" + std::to_string(value) +
                      ", which needs NCCL " + text_of(needed) + " or later, and here is NCCL " +
                      text_of(version)};
}

void read_number(std::string_view name, std::string_view text, int version, Settings& settings) {
    const auto* const found = std::ranges::find(settings_known, name, &Setting::name);
    if (found == std::end(settings_known)) {
        refuse("has no setting \"" + std::string(name) + "\"");
    }
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc{} && end == text.data() + text.size();
    if (!is_number || value < found->least || value > found->most) {
        refuse("has " + std::string(name) + "=" + std::string(text) + ", which must be " +
               std::to_string(found->least) + " to " + std::to_string(found->most));
    }
    check_version(*found, value, version);
    if (found->place != nullptr) {
        settings.config.*found->place = value;
    } else {
        settings.*found->own = value == 1;
    }
}

void read(std::string_view item, int version, Settings& settings) {
    const size_t middle = std::min(item.find('='), item.size());
    const std::string_view name = item.substr(0, middle);
    const std::string_view text = item.substr(std::min(middle + 1, item.size()));
    if (name != "net_name") return read_number(name, text, version, settings);
    if (text.empty()) refuse("has net_name, which must be the name of a network of NCCL's");
    settings.config.net_name = kept(text);
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
        if (end > 0) read(rest.substr(0, end), version, settings);
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return settings;
}

Settings named(Settings settings, const tutti_backend_place& place) {
    constexpr size_t least = offsetof(tutti_backend_place, group_name) + sizeof place.group_name;
    const bool has_name = place.struct_size >= least && *place.group_name != '\0';
    settings.config.comm_name = has_name ? kept(place.group_name) : nullptr;
    return settings;
}

}  // namespace tutti::nccl
