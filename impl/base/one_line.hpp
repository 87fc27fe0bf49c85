// Text from anywhere as one line of UTF-8. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace tutti {

// A control character, and a character that some programs take for the end of a line, becomes \n,
// \r, \t or a form such as \u001b: the text can neither begin another line nor steer a terminal.
// A byte that is not UTF-8 becomes U+FFFD.
std::string one_line(std::string_view text);

}  // namespace tutti
