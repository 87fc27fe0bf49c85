// Command lines of tuttirun, parsed and shown. For tests.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/options.hpp"
#include "support/unit.hpp"

namespace tutti::test {

using launch::Options;

using Variables = std::map<std::string, std::string>;

inline Options parse(std::initializer_list<const char*> arguments,
                     const Variables& variables = {}) {
    const std::vector<const char*> list(arguments);
    const auto lookup = [&](const char* name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        if (found == variables.end()) return std::nullopt;
        return found->second;
    };
    return tutti::launch::parse_options(list, lookup);
}

inline void expect_refusal(std::initializer_list<const char*> arguments,
                           const std::string& fragment, const Variables& variables = {}) {
    TUTTI_EXPECT_ERROR(parse(arguments, variables), TUTTI_ERR_INVALID_ARGUMENT, fragment);
}

// The programs of a command line as text: count, role, Python and words of each.
inline std::string show_programs(const Options& options) {
    std::string text;
    for (const auto& program : options.programs) {
        text += tutti::cat(text.empty() ? "" : " | ", program.count, " ", program.role, " ",
                           static_cast<int>(program.python));
        for (const auto& word : program.command) text += tutti::cat(" ", word);
    }
    return text;
}

}  // namespace tutti::test
