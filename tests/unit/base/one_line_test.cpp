// Is text from anywhere one line of UTF-8?
#include "base/one_line.hpp"

#include <utility>

#include "base/utf8.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;
using namespace std::string_literals;

void text_is_one_line(void**) {
    const std::pair<std::string, const char*> rows[] = {
        {"plain \"text\", a\\b: é ö 漢 🎺", "plain \"text\", a\\b: é ö 漢 🎺"},
        {"", ""},
        {"a\nb\r\n\tc", "a\\nb\\r\\n\\tc"},
        {"\0\x1b[2J\x7f"s, "\\u0000\\u001b[2J\\u007f"},
        {"next line \xc2\x85, separators \xe2\x80\xa8 \xe2\x80\xa9",
         "next line \\u0085, separators \\u2028 \\u2029"},
        {"\xff\xc3(\xed\xa0\x80\xf0\x9f",
         "\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd"
         "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    };
    for (const auto& [text, line] : rows) assert_string_equal(one_line(text).c_str(), line);
    std::string bytes;
    for (int first = 0; first < 256; ++first) {
        for (int second = 0; second < 256; ++second) {
            bytes += {static_cast<char>(first), static_cast<char>(second)};
        }
    }
    const std::string line = one_line(bytes);
    assert_false(utf8_fault(line).has_value());
    for (const char one : line) assert_true(one < 0 || one >= ' ');
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {TUTTI_TEST(text_is_one_line)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
