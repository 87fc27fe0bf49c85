// The settings of environment variables and calls: every setting with its value and where
// it comes from, and variables of the environment that look like settings and are none. Any thread,
// as long as nobody calls setenv.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti {

// "default", "environment", "call" or "unknown".
enum class SettingSource { Default, Environment, Call, Unknown };
const char* source_name(SettingSource source);

struct Setting {
    std::string name;
    std::string value;  // one line of UTF-8
    SettingSource source;
    std::string usual;     // what goes without the variable; empty if unknown
    std::string variable;  // from which the value is, if it is from the environment
    std::string nearest;   // of an unknown one: the setting that may be meant
};

// In the order of the table, then modules, then unknown variables whose names begin with TUTTI_.
std::vector<Setting> all_settings();

// The setting whose name is most like this one.
std::string_view nearest_setting(std::string_view name);

}  // namespace tutti
