// A few texts in one: what the nodes tell each other. Each text is preceded by its length, "3:abc".
// Any thread, no side effects.
#pragma once

#include <string>
#include <vector>

namespace tutti::launch {

std::string join_fields(const std::vector<std::string>& fields);
// INVALID_ARGUMENT if the text is not what join_fields makes of `count` fields or more.
std::vector<std::string> split_fields(const std::string& text, size_t count);

}  // namespace tutti::launch
