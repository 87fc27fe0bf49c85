// Text from files, made fit for a terminal and for JSON. std only, any thread.
#pragma once

#include <string>
#include <string_view>

namespace tutti::trace {

// Control characters, and bytes that are no UTF-8, as "?".
std::string printable(std::string_view text);

}  // namespace tutti::trace
