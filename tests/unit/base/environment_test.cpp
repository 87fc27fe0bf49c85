// Does a malformed number name the variable it stands in? One thread; sets environment variables.
#include "base/environment.hpp"

#include <cstdlib>

#include "support/unit.hpp"

namespace {

using tutti::environment;
using tutti::environment_number;
using tutti::parse_number;

constexpr const char* name = "TUTTI_TCP_CONNECTIONS";

void unset_and_empty_are_nothing(void**) {
    ::unsetenv(name);
    assert_false(environment(name).has_value());
    assert_false(environment_number(name, 0, 1).has_value());
    ::setenv(name, "", 1);
    assert_false(environment(name).has_value());
    assert_false(environment_number(name, 0, 1).has_value());
}

void a_number_within_its_bounds_is_taken(void**) {
    for (const auto& [text, number] : {std::pair{"0", 0}, {"-3", -3}, {"7", 7}, {"007", 7}}) {
        ::setenv(name, text, 1);
        assert_string_equal(environment(name)->c_str(), text);
        assert_int_equal(environment_number(name, -3, 7).value(), number);
    }
    assert_true(parse_number("9223372036854775807", "x", INT64_MIN, INT64_MAX) == INT64_MAX);
    assert_true(parse_number("-9223372036854775808", "x", INT64_MIN, INT64_MAX) == INT64_MIN);
}

void a_malformed_number_names_the_variable_and_shows_its_text(void**) {
    for (const char* text : {"x", "1x", " 1", "1 ", "+1", "0x1", "1.5", "1e3", "-", "--1", "11",
                             "-1", "9223372036854775808", "99999999999999999999999", "\xff"}) {
        ::setenv(name, text, 1);
        TUTTI_EXPECT_ERROR(environment_number(name, 0, 10), TUTTI_ERR_INVALID_ARGUMENT,
                           tutti::cat("environment variable ", name, " is \"", text,
                                      "\", not a whole number from 0 to 10"));
    }
}

void a_malformed_number_names_what_it_is(void**) {
    TUTTI_EXPECT_ERROR(parse_number("", "the port", 1, 65535), TUTTI_ERR_INVALID_ARGUMENT,
                       "the port is \"\", not a whole number from 1 to 65535");
    TUTTI_EXPECT_ERROR(parse_number(std::string("1\0", 2), "the port", 1, 65535),
                       TUTTI_ERR_INVALID_ARGUMENT, "the port is");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(unset_and_empty_are_nothing),
        TUTTI_TEST(a_number_within_its_bounds_is_taken),
        TUTTI_TEST(a_malformed_number_names_the_variable_and_shows_its_text),
        TUTTI_TEST(a_malformed_number_names_what_it_is),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
