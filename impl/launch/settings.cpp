#include "settings.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/one_line.hpp"
#include "base/settings.hpp"
#include "base/text.hpp"
#include "option_table.hpp"

namespace tutti::launch {

namespace {

using Row = std::array<std::string, 3>;

// The help of an option ends with its default in parentheses, if it has one.
std::string usual_value(const OptionRow& option) {
    const std::string_view help = option.help;
    const size_t open = help.rfind('(');
    if (open != help.npos && help.ends_with(')')) {
        return std::string(help.substr(open + 1, help.size() - open - 2));
    }
    return option.value == nullptr ? "0" : "none";
}

bool is_setting(const OptionRow& option) {
    constexpr std::array<std::string_view, 3> questions{"--help", "--version", "--settings"};
    return option.name != nullptr && !std::string_view(option.help).starts_with("no effect") &&
           std::ranges::find(questions, option.name) == questions.end();
}

Row row_of(const OptionRow& option, const std::vector<GivenOption>& given) {
    const auto is_meant = [&](const GivenOption& one) { return one.name == option.name; };
    const auto last = std::find_if(given.rbegin(), given.rend(), is_meant);
    if (last == given.rend()) return {option.name, usual_value(option), "default"};
    return {option.name, one_line(last->value), last->is_by_environment ? "environment" : "option"};
}

Row row_of(const Setting& setting) {
    std::string source = source_name(setting.source);
    if (setting.source == SettingSource::Unknown) {
        source += cat("; did you mean ", setting.nearest, "?");
    } else if (!setting.variable.empty() && setting.variable != setting.name) {
        source += cat(" (", setting.variable, ")");
    }
    return {setting.name, setting.value, source};
}

}  // namespace

std::string settings_text(const Options& options) {
    std::vector<Row> rows{{"name", "value", "source"}};
    for (const OptionRow& option : option_table()) {
        if (is_setting(option)) rows.push_back(row_of(option, options.given));
    }
    for (const Setting& setting : all_settings()) rows.push_back(row_of(setting));
    std::array<size_t, 2> widths{};
    for (const Row& row : rows) {
        for (size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (Row& row : rows) {
        for (size_t i = 0; i < widths.size(); ++i) row[i].resize(widths[i], ' ');
        text += cat(row[0], "  ", row[1], "  ", row[2], "\n");
    }
    return text;
}

}  // namespace tutti::launch
