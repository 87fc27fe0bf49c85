// Lengths and texts. Any thread.
#include "fields.hpp"

#include "base/environment.hpp"
#include "base/error.hpp"

namespace tutti::launch {

std::string join_fields(const std::vector<std::string>& fields) {
    std::string text;
    for (const auto& field : fields) text += cat(field.size(), ":", field);
    return text;
}

std::vector<std::string> split_fields(const std::string& text, size_t count) {
    const std::string what = "the length of a field in the message of another tuttirun";
    std::vector<std::string> fields;
    for (size_t start = 0; start < text.size();) {
        const auto colon = text.find(':', start);
        if (colon == std::string::npos) break;
        const auto room = static_cast<int64_t>(text.size() - colon - 1);
        const auto size =
            static_cast<size_t>(parse_number(text.substr(start, colon - start), what, 0, room));
        fields.push_back(text.substr(colon + 1, size));
        start = colon + 1 + size;
    }
    if (fields.size() < count) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT, "the message of another tuttirun is too short");
    }
    return fields;
}

}  // namespace tutti::launch
