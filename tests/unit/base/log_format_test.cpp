// Is a log line one JSON object with TUTTI_LOG_FORMAT=json, whatever text it was made of? Sets
// environment variables before anything is logged, and reads its own stderr.
#include "base/log_format.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "support/unit.hpp"

namespace {

using namespace tutti;

// Runs the function and returns the text that arrives on stderr.
template <typename Logging>
std::string written_by(Logging&& logging) {
    int ends[2];
    assert_int_equal(::pipe(ends), 0);
    const int kept = ::dup(STDERR_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    logging();
    ::dup2(kept, STDERR_FILENO);
    ::close(kept);
    ::close(ends[1]);
    std::string text(1 << 16, '\0');
    const auto size = ::read(ends[0], text.data(), text.size());
    ::close(ends[0]);
    text.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
    return text;
}

void expect_line(const std::string& line, const std::string& pattern) {
    if (std::regex_match(line, std::regex(pattern))) return;
    fail_msg("not %s: %s", pattern.c_str(), line.c_str());
}

constexpr const char* time = R"("time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")";
constexpr const char* process = R"("host":"[^"]+","pid":\d+,"thread":"[^"]*")";

void a_line_is_a_json_object(void**) {
    const auto line = written_by([] { log(LogLevel::Warning, "tcp: \"a\\b\"\nand \xff"); });
    expect_line(line, cat(R"(\{)", time, R"(,"level":"warning","rank":3,"world_size":5,)", process,
                          R"(,"component":"tcp","message":"tcp: \\"a\\\\b\\"\\\\nand )",
                          "\xef\xbf\xbd", R"("\}\n)"));
}

void only_the_librarys_own_parts_are_components(void**) {
    const auto line = written_by([] { log(LogLevel::Error, "somebody: is late"); });
    expect_line(line, cat(R"(\{)", time, R"(,"level":"error","rank":3,"world_size":5,)", process,
                          R"(,"message":"somebody: is late"\}\n)"));
}

void the_group_s_rank_goes_before_the_launchers(void**) {
    set_log_rank(1, 2);
    const auto line = written_by([] { log(LogLevel::Info, "hello"); });
    expect_line(line, cat(R"(\{)", time, R"(,"level":"info","rank":1,"world_size":2,)", process,
                          R"(,"message":"hello"\}\n)"));
}

void a_malformed_format_is_named(void**) {
    ::setenv("TUTTI_LOG_FORMAT", "JSON", 1);
    assert_int_equal(log_format_by_environment(), LogFormat::Json);
    ::setenv("TUTTI_LOG_FORMAT", "text", 1);
    assert_int_equal(log_format_by_environment(), LogFormat::Text);
    ::setenv("TUTTI_LOG_FORMAT", "xml", 1);
    TUTTI_EXPECT_ERROR(log_format_by_environment(), TUTTI_ERR_INVALID_ARGUMENT,
                       "environment variable TUTTI_LOG_FORMAT is \"xml\"; it may be text or json");
    ::unsetenv("TUTTI_LOG_FORMAT");
    assert_int_equal(log_format_by_environment(), LogFormat::Text);
}

}  // namespace

int main() {
    ::setenv("TUTTI_LOG_LEVEL", "info", 1);
    ::setenv("TUTTI_LOG_FORMAT", "json", 1);
    ::setenv("RANK", "3", 1);
    ::setenv("WORLD_SIZE", "5", 1);
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_line_is_a_json_object),
        TUTTI_TEST(only_the_librarys_own_parts_are_components),
        TUTTI_TEST(the_group_s_rank_goes_before_the_launchers),
        TUTTI_TEST(a_malformed_format_is_named),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
