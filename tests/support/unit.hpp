// The header of every unit test: cmocka, in the order of headers it needs, and an assertion for
// calls that must throw. A list of tests is written
//     const CMUnitTest tests[] = {TUTTI_TEST(get_waits_for_the_key), ...};
//     return cmocka_run_group_tests(tests, nullptr, nullptr);
// Any thread may throw; only the thread that runs the test may assert.
#pragma once

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <ios>  // has a fail() of its own, which cmocka makes a macro of
#include <string>

// cmocka of Debian 12 has no extern "C" of its own.
extern "C" {
#include <cmocka.h>
}

#include "base/error.hpp"

namespace tutti::test {

// Runs a test; an exception that leaves it is a failure that shows its text, not a dead process.
template <void (*test)(void**)>
void guarded(void** state) {
    std::string escaped;
    try {
        test(state);
        return;
    } catch (const std::exception& exception) {
        escaped = exception.what();
    } catch (...) {
        escaped = "not a std::exception";
    }
    fail_msg("an exception left the test: %s", escaped.c_str());
}

// Fails unless call() throws an Error of this status whose message contains the fragment.
template <class Call>
void expect_error(Call&& call, tutti_status status, const std::string& fragment, const char* text,
                  const char* file, int line) {
    Status thrown;
    try {
        call();
    } catch (const Error& error) {
        thrown = error.status();
    }
    const bool right = thrown.code == status && thrown.message.find(fragment) != std::string::npos;
    if (right) return;
    print_error("%s:%d: %s\n  wanted status %d and \"%s\"\n  got    status %d and \"%s\"\n", file,
                line, text, static_cast<int>(status), fragment.c_str(),
                static_cast<int>(thrown.code), thrown.message.c_str());
    _fail(file, line);
}

}  // namespace tutti::test

// A row of a cmocka test list.
#define TUTTI_TEST(function) \
    { #function, ::tutti::test::guarded < function>, nullptr, nullptr, nullptr }

// The expression must throw tutti::Error with this status and a message that contains the fragment:
//     TUTTI_EXPECT_ERROR(store.get("key", deadline), TUTTI_ERR_TIMEOUT, "\"key\"");
#define TUTTI_EXPECT_ERROR(expression, status, fragment)                                  \
    ::tutti::test::expect_error([&] { static_cast<void>(expression); }, status, fragment, \
                                #expression, __FILE__, __LINE__)
