// UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace tutti {

// Bytes of the character that `text`, which is not empty, begins with; 0 if that is none.
size_t utf8_character(std::string_view text);

// Where the first character that is none begins; nothing if all are.
std::optional<size_t> utf8_fault(std::string_view text);

}  // namespace tutti
