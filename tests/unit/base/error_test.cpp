// Does every exception become a Status that says what happened?
#include "base/error.hpp"

#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>

#include "support/unit.hpp"

namespace {

using tutti::current_status;
using tutti::Error;
using tutti::Status;

template <typename Exception>
Status status_of(const Exception& exception) {
    try {
        throw exception;
    } catch (...) {
        return current_status();
    }
}

void an_error_keeps_its_status(void**) {
    const Status status = status_of(Error(TUTTI_ERR_PEER_LOST, "rank 3 died", 3, ECONNRESET));
    assert_int_equal(status.code, TUTTI_ERR_PEER_LOST);
    assert_int_equal(status.rank, 3);
    assert_int_equal(status.system_errno, ECONNRESET);
    assert_string_equal(status.message.c_str(), "rank 3 died");
    assert_string_equal(Error(status).what(), "rank 3 died");
    assert_int_equal(Error(status).status().rank, 3);
}

void an_error_blames_nobody_by_default(void**) {
    const Error error(TUTTI_ERR_STORE, "x");
    assert_int_equal(error.status().rank, -1);
    assert_int_equal(error.status().system_errno, 0);
    assert_true(Status{}.ok());
    assert_false(error.status().ok());
}

void exceptions_of_others_are_translated(void**) {
    assert_int_equal(status_of(std::bad_alloc()).code, TUTTI_ERR_OUT_OF_MEMORY);
    const Status strange = status_of(std::runtime_error("what it said"));
    assert_int_equal(strange.code, TUTTI_ERR_INTERNAL);
    assert_non_null(std::strstr(strange.message.c_str(), "what it said"));
    const Status number = status_of(42);
    assert_int_equal(number.code, TUTTI_ERR_INTERNAL);
    assert_true(number.message.size() > 0);
}

void an_errno_is_said_in_words_and_by_name(void**) {
    assert_string_equal(tutti::errno_text(ECONNREFUSED).c_str(),
                        "Connection refused (ECONNREFUSED)");
    assert_non_null(std::strstr(tutti::errno_text(123'456).c_str(), "unknown errno"));
}

void text_is_put_together_from_pieces(void**) {
    const std::string name = "rank";
    assert_string_equal(tutti::cat(name, ' ', 3, " of ", uint64_t{4}, "").c_str(), "rank 3 of 4");
    assert_string_equal(tutti::cat(INT64_MIN).c_str(), "-9223372036854775808");
    assert_string_equal(tutti::cat().c_str(), "");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(an_error_keeps_its_status),
        TUTTI_TEST(an_error_blames_nobody_by_default),
        TUTTI_TEST(exceptions_of_others_are_translated),
        TUTTI_TEST(an_errno_is_said_in_words_and_by_name),
        TUTTI_TEST(text_is_put_together_from_pieces),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
