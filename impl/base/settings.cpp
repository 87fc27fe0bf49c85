#include "settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>

#include "debug_level.hpp"
#include "environment.hpp"
#include "log.hpp"
#include "log_format.hpp"
#include "one_line.hpp"

namespace tutti {

namespace {

constexpr std::string_view own_prefix = "TUTTI_";
constexpr std::string_view module_suffix = "_MODULE";

bool is_in_table(std::string_view name) {
    return std::ranges::any_of(variable_table, [&](const auto& row) { return name == row.name; });
}

Setting by_variables(const VariableRow& row) {
    for (const char* name : {row.name, row.instead}) {
        if (name == nullptr) continue;
        if (const auto value = environment_by_name(name)) {
            return {row.name, one_line(*value), SettingSource::Environment, row.usual, name, ""};
        }
    }
    return {row.name, row.usual, SettingSource::Default, row.usual, "", ""};
}

void set_by_call(Setting& setting, const char* value) {
    setting.value = value;
    setting.source = SettingSource::Call;
    setting.variable = "";
}

void regard_calls(Setting& setting) {
    if (setting.name == "TUTTI_LOG_LEVEL" && log_is_listened_to()) {
        set_by_call(setting, log_level_name(log_level()));
    }
    if (setting.name == "TORCH_DISTRIBUTED_DEBUG" && debug_level_is_set()) {
        constexpr std::array<const char*, 3> names{"OFF", "INFO", "DETAIL"};
        set_by_call(setting, names[static_cast<size_t>(debug_level())]);
    }
}

// Insertions, deletions and changes of letters that make one of the other.
size_t distance(std::string_view one, std::string_view other) {
    std::vector<size_t> row(other.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 0; i < one.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < other.size(); ++j) {
            const size_t changed = diagonal + (one[i] == other[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

// Variables that are not in the table but have a name of ours.
void add_others(std::vector<Setting>& settings) {
    std::vector<Setting> unknown;
    for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
        const std::string_view entry = *one;
        const std::string_view name = entry.substr(0, entry.find('='));
        if (name.size() == entry.size() || !name.starts_with(own_prefix)) continue;
        const std::string_view value = entry.substr(name.size() + 1);
        if (is_in_table(name) || value.empty()) continue;
        const bool is_module =
            name.ends_with(module_suffix) && name.size() > own_prefix.size() + module_suffix.size();
        const std::string shown = one_line(name);
        const auto is_same = [&](const Setting& other) { return other.name == shown; };
        if (std::ranges::any_of(settings, is_same) || std::ranges::any_of(unknown, is_same)) {
            continue;  // an environment may have a name twice
        }
        if (is_module) {
            settings.push_back({shown, one_line(value), SettingSource::Environment,
                                "where the system looks", shown, ""});
        } else {
            unknown.push_back({shown, one_line(value), SettingSource::Unknown, "", "",
                               std::string(nearest_setting(name))});
        }
    }
    std::ranges::move(unknown, std::back_inserter(settings));
}

}  // namespace

const char* source_name(SettingSource source) {
    constexpr std::array<const char*, 4> names{"default", "environment", "call", "unknown"};
    return names[static_cast<size_t>(source)];
}

std::vector<Setting> all_settings() {
    std::vector<Setting> settings;
    for (const VariableRow& row : variable_table) {
        if (row.usual == nullptr) continue;
        settings.push_back(by_variables(row));
        regard_calls(settings.back());
    }
    add_others(settings);
    return settings;
}

std::string_view nearest_setting(std::string_view name) {
    std::string_view nearest;
    size_t least = std::numeric_limits<size_t>::max();
    for (const VariableRow& row : variable_table) {
        if (row.usual == nullptr) continue;
        const size_t this_one = distance(name, row.name);
        if (this_one >= least) continue;
        least = this_one;
        nearest = row.name;
    }
    return nearest;
}

}  // namespace tutti
