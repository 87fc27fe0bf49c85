#include "environment.hpp"

#include <charconv>
#include <cstdlib>

#include "error.hpp"

namespace tutti {

std::optional<std::string> environment(Variable name) {
    return environment_by_name(name.name());
}

std::optional<std::string> environment_by_name(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
}

std::optional<int64_t> environment_number(Variable name, int64_t lowest, int64_t highest) {
    const auto value = environment(name);
    if (!value) return std::nullopt;
    return parse_number(*value, cat("environment variable ", name), lowest, highest);
}

int64_t parse_number(const std::string& text, const std::string& what, int64_t lowest,
                     int64_t highest) {
    int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, fault] = std::from_chars(text.data(), end, number);
    if (fault != std::errc{} || stop != end || number < lowest || number > highest) {
        throw Error(
            TUTTI_ERR_INVALID_ARGUMENT,
            cat(what, " is \"", text, "\", not a whole number from ", lowest, " to ", highest));
    }
    return number;
}

}  // namespace tutti
