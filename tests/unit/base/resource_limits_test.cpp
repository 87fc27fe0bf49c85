// Is a limit that stands in the way an OUT_OF_MEMORY that names it? One thread.
#include "base/resource_limits.hpp"

#include <pthread.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "base/control_group.hpp"
#include "base/first_line.hpp"
#include "base/thread.hpp"
#include "support/limits.hpp"
#include "support/sanitizers.h"

namespace {

using namespace tutti;
using test::LowLimit;

bool says(const Status& status, const char* words) {
    return status.message.find(words) != std::string::npos;
}

template <typename Exception>
Status status_of(const Exception& exception) {
    try {
        throw exception;
    } catch (...) {
        return current_status();
    }
}

void what_ran_out_is_out_of_memory_and_names_the_limit(void**) {
    const LowLimit files(RLIMIT_NOFILE, 64);
    for (const int number : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
        const Status status = system_error(TUTTI_ERR_NETWORK, "listening", number).status();
        assert_int_equal(status.code, TUTTI_ERR_OUT_OF_MEMORY);
        assert_int_equal(status.system_errno, number);
        assert_int_equal(status.rank, -1);
        assert_true(status.is_own_exhaustion);
        assert_true(status.message.starts_with(cat("listening: ", errno_text(number))));
    }
    assert_string_equal(
        system_error(TUTTI_ERR_NETWORK, "listening", EMFILE).what(),
        "listening: Too many open files (EMFILE): this process may have 64 open files (ulimit -n)");
}

void other_faults_stay_what_they_are(void**) {
    const Status status = system_error(TUTTI_ERR_NETWORK, "listening", EADDRINUSE, 3).status();
    assert_int_equal(status.code, TUTTI_ERR_NETWORK);
    assert_int_equal(status.rank, 3);
    assert_false(status.is_own_exhaustion);
    assert_string_equal(status.message.c_str(), "listening: Address already in use (EADDRINUSE)");
}

void address_space_is_named_where_it_is_limited(void**) {
    if (SANITIZED) skip();  // their own memory is beyond any limit
    assert_null(strstr(limit_text(ENOMEM).c_str(), "ulimit"));
    const LowLimit space(RLIMIT_AS, rlim_t{1} << 34);
    assert_true(limit_text(ENOMEM).starts_with(
        "this process may have 16777216 KiB of address space (ulimit -v)"));
}

void the_memory_of_a_control_group_is_named_where_it_is_limited(void**) {
    const auto limit = memory_limit();
    const std::string text = limit_text(ENOMEM);
    if (!limit) {
        assert_null(strstr(text.c_str(), "control group"));
        return;
    }
    assert_non_null(
        strstr(text.c_str(), cat("the control group ", limit->group, " may have ",
                                 limit->most / 1024, " KiB of memory (", limit->name, ")")
                                 .c_str()));
}

void a_stack_that_does_not_fit_is_named(void**) {
    if (SANITIZED) skip();
    pthread_attr_t before;
    pthread_attr_t huge;
    assert_int_equal(pthread_getattr_default_np(&before), 0);
    assert_int_equal(pthread_attr_init(&huge), 0);
    assert_int_equal(pthread_attr_setstacksize(&huge, size_t{1} << 48), 0);
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    const Status thread = thread_error("cannot start a thread", EAGAIN).status();
    const Status process = process_error("cannot start a process", EAGAIN).status();
    assert_int_equal(pthread_setattr_default_np(&before), 0);
    assert_true(says(thread, "there is no room for its stack of 274877906944 KiB (ulimit -s)"));
    assert_false(says(thread, "ulimit -u"));
    assert_false(says(process, "ulimit -s"));
    assert_false(says(thread_error("cannot start a thread", EAGAIN).status(), "ulimit -s"));
}

void a_refused_call_is_named(void**) {
    for (const int number : {EPERM, ENOSYS}) {
        const Status event = call_error("eventfd", "making an event", number).status();
        assert_int_equal(event.code, TUTTI_ERR_UNSUPPORTED);
        assert_int_equal(event.system_errno, number);
        assert_true(says(event, "making an event: this system") && says(event, "refuses eventfd"));
        assert_int_equal(thread_error("a thread", number).status().code, TUTTI_ERR_UNSUPPORTED);
        assert_int_equal(process_error("one", number, 3).status().code, TUTTI_ERR_UNSUPPORTED);
        assert_int_equal(process_error("one", number, 3).status().rank, 3);
    }
    const LowLimit files(RLIMIT_NOFILE, 64);
    const Status full = call_error("eventfd", "making an event", EMFILE).status();
    assert_int_equal(full.code, TUTTI_ERR_OUT_OF_MEMORY);
    assert_true(says(full, "64 open files (ulimit -n)"));
}

void a_thread_that_cannot_be_started_is_out_of_memory(void**) {
    if (SANITIZED) skip();
    Status status;
    {
        const test::NoAddressSpace none;
        try {
            start_thread("tutti-test", [] {}).join();
        } catch (...) {
            status = current_status();
        }
    }
    assert_int_equal(status.code, TUTTI_ERR_OUT_OF_MEMORY);
    assert_true(says(status, "cannot start the thread tutti-test: "));
    assert_true(says(status, "address space (ulimit -v)"));
}

void exceptions_of_others_are_read_for_what_ran_out(void**) {
    const LowLimit files(RLIMIT_NOFILE, 64);
    const Status gloo =
        status_of(std::runtime_error("[enforce fail at loop.cc:47] pipe: Too many open files"));
    assert_int_equal(gloo.code, TUTTI_ERR_OUT_OF_MEMORY);
    assert_int_equal(gloo.system_errno, EMFILE);
    assert_true(says(gloo, "pipe") && says(gloo, "64 open files (ulimit -n)"));
    const Status system = status_of(std::runtime_error("pipe: Too many open files in system"));
    assert_int_equal(system.system_errno, ENFILE);
    const Status thread = status_of(std::system_error(EAGAIN, std::generic_category()));
    assert_int_equal(thread.code, TUTTI_ERR_OUT_OF_MEMORY);
    assert_int_equal(thread.system_errno, EAGAIN);
    const std::error_code full(EMFILE, std::system_category());
    const Status folder = status_of(std::filesystem::filesystem_error("opening", "/x", full));
    assert_int_equal(folder.code, TUTTI_ERR_OUT_OF_MEMORY);
    const std::error_code absent(ENOENT, std::system_category());
    const Status none = status_of(std::filesystem::filesystem_error("opening", "/x", absent));
    assert_int_equal(none.code, TUTTI_ERR_INTERNAL);
    assert_true(status_of(std::bad_alloc()).is_own_exhaustion);
}

void an_own_exhaustion_is_this_rank_s_whomever_it_was_about(void**) {
    const LowLimit files(RLIMIT_NOFILE, 64);
    Status own = system_error(TUTTI_ERR_NETWORK, "connecting", EMFILE).status();
    own.rank = 3;
    const std::string message = own.message;
    blame_own_exhaustion(own, 1);
    assert_int_equal(own.rank, 1);
    assert_string_equal(own.message.c_str(), message.c_str());
    Status unmarked{TUTTI_ERR_OUT_OF_MEMORY, -1, EMFILE, "dup"};
    blame_own_exhaustion(unmarked, 1);
    assert_int_equal(unmarked.rank, 1);
    assert_string_equal(unmarked.message.c_str(),
                        "dup: this process may have 64 open files (ulimit -n)");
    // Failures of others, and errors that are no limit.
    Status told{TUTTI_ERR_OUT_OF_MEMORY, 2, EMFILE, "rank 2 gave up"};
    blame_own_exhaustion(told, 1);
    assert_int_equal(told.rank, 2);
    assert_string_equal(told.message.c_str(), "rank 2 gave up");
    Status refused{TUTTI_ERR_NETWORK, -1, ECONNREFUSED, "refused"};
    blame_own_exhaustion(refused, 1);
    assert_int_equal(refused.rank, -1);
}

void a_file_beyond_the_limit_is_refused_before_it_is_written(void**) {
    check_file_size(UINT64_MAX, "writing");
    const LowLimit size(RLIMIT_FSIZE, 8192);
    check_file_size(8192, "writing");
    TUTTI_EXPECT_ERROR(check_file_size(8193, "writing"), TUTTI_ERR_OUT_OF_MEMORY,
                       "writing: File too large (EFBIG): this process may make files of 8 KiB "
                       "(ulimit -f)");
}

void a_file_that_cannot_be_opened_for_want_of_descriptors_is_not_absent(void**) {
    assert_string_equal(first_line("/proc/no/such/file").c_str(), "");
    assert_true(first_line("/proc/self/status").starts_with("Name:"));
    const test::NoDescriptors none;
    TUTTI_EXPECT_ERROR(first_line("/proc/self/status"), TUTTI_ERR_OUT_OF_MEMORY,
                       "this process may have 3 open files (ulimit -n)");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(what_ran_out_is_out_of_memory_and_names_the_limit),
        TUTTI_TEST(other_faults_stay_what_they_are),
        TUTTI_TEST(address_space_is_named_where_it_is_limited),
        TUTTI_TEST(the_memory_of_a_control_group_is_named_where_it_is_limited),
        TUTTI_TEST(a_stack_that_does_not_fit_is_named),
        TUTTI_TEST(a_refused_call_is_named),
        TUTTI_TEST(a_thread_that_cannot_be_started_is_out_of_memory),
        TUTTI_TEST(exceptions_of_others_are_read_for_what_ran_out),
        TUTTI_TEST(an_own_exhaustion_is_this_rank_s_whomever_it_was_about),
        TUTTI_TEST(a_file_beyond_the_limit_is_refused_before_it_is_written),
        TUTTI_TEST(a_file_that_cannot_be_opened_for_want_of_descriptors_is_not_absent),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
