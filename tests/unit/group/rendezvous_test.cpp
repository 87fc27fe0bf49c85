// Does an init method become the right store, rank and world size, and does a wrong one get an
// error that names what is wrong? One thread; sets environment variables.
#include "group/rendezvous.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/unit.hpp"

namespace {

using tutti::Deadline;

constexpr int64_t timeout_ms = 60'000;

tutti::Rendezvous rendezvous(const std::string& method, int rank, int world_size, int64_t timeout) {
    return tutti::rendezvous(method, rank, world_size, timeout, nullptr);
}

void unset_all() {
    for (const char* name :
         {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "TORCHELASTIC_USE_AGENT_STORE",
          "TORCHELASTIC_RESTART_COUNT", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"}) {
        ::unsetenv(name);
    }
}

void set_all(const std::string& port) {
    unset_all();
    ::setenv("MASTER_ADDR", "127.0.0.1", 1);
    ::setenv("MASTER_PORT", port.c_str(), 1);
    ::setenv("RANK", "0", 1);
    ::setenv("WORLD_SIZE", "1", 1);
}

// A new folder, gone at the end.
class Folder {
public:
    Folder() {
        std::string pattern = std::filesystem::temp_directory_path() / "tutti_XXXXXX";
        assert_non_null(::mkdtemp(pattern.data()));
        path_ = pattern;
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() { std::filesystem::remove_all(path_); }
    [[nodiscard]] std::string url() const { return "file://" + path_ + "/meeting"; }
    [[nodiscard]] std::string file() const { return path_ + "/meeting"; }

private:
    std::string path_;
};

void an_unknown_scheme_is_named_with_the_known_ones(void**) {
    for (const char* method : {"pigeon://somewhere", "somewhere", "", "://", "ENV://"}) {
        TUTTI_EXPECT_ERROR(rendezvous(method, 0, 1, timeout_ms), TUTTI_ERR_INVALID_ARGUMENT,
                           tutti::cat("\"", method, "\" is not known"));
        TUTTI_EXPECT_ERROR(rendezvous(method, 0, 1, timeout_ms), TUTTI_ERR_INVALID_ARGUMENT,
                           "env://, tcp://host:port and file:///path");
    }
}

void a_missing_variable_is_named(void**) {
    for (const char* name : {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"}) {
        set_all("1");
        ::setenv("RANK", "1", 1);
        ::setenv("WORLD_SIZE", "2", 1);
        ::unsetenv(name);
        const auto fragment = tutti::cat("environment variable ", name, " is not set");
        TUTTI_EXPECT_ERROR(rendezvous("env://", -1, -1, timeout_ms), TUTTI_ERR_INVALID_ARGUMENT,
                           fragment);
        ::setenv(name, "", 1);
        TUTTI_EXPECT_ERROR(rendezvous("env://", -1, -1, timeout_ms), TUTTI_ERR_INVALID_ARGUMENT,
                           tutti::cat("environment variable ", name, " is empty"));
    }
}

// Only rank 0 can do without one.
void rank_0_serves_at_every_address_if_none_is_given(void**) {
    const int port = [] {
        const auto server = tutti::make_store_server("", 0);
        return server->port();
    }();
    set_all(std::to_string(port));
    ::unsetenv("MASTER_ADDR");
    const auto zero = rendezvous("env://", 0, 2, timeout_ms);
    ::setenv("MASTER_ADDR", "127.0.0.2", 1);
    const auto one = rendezvous("env://", 1, 2, timeout_ms);
    one.store->set("key", "value", Deadline::after_ms(timeout_ms));
    assert_string_equal(zero.store->get("key", Deadline::after_ms(timeout_ms)).c_str(), "value");
}

void a_malformed_variable_is_named_with_its_text(void**) {
    const std::array<std::pair<const char*, const char*>, 8> wrong{{{"RANK", "-1"},
                                                                    {"RANK", "two"},
                                                                    {"WORLD_SIZE", "0"},
                                                                    {"WORLD_SIZE", "4x"},
                                                                    {"WORLD_SIZE", "99999999999"},
                                                                    {"MASTER_PORT", "0"},
                                                                    {"MASTER_PORT", "65536"},
                                                                    {"MASTER_PORT", " 80"}}};
    for (const auto& [name, value] : wrong) {
        set_all("1");
        ::setenv(name, value, 1);
        TUTTI_EXPECT_ERROR(rendezvous("env://", -1, -1, timeout_ms), TUTTI_ERR_INVALID_ARGUMENT,
                           tutti::cat("environment variable ", name, " is \"", value, "\""));
    }
}

void a_rank_outside_the_world_is_refused(void**) {
    set_all("1");
    ::setenv("RANK", "4", 1);
    ::setenv("WORLD_SIZE", "4", 1);
    TUTTI_EXPECT_ERROR(rendezvous("env://", -1, -1, timeout_ms), TUTTI_ERR_INVALID_ARGUMENT,
                       "rank 4 is not below the world size, 4");
    TUTTI_EXPECT_ERROR(rendezvous("tcp://localhost:1", 2, 2, timeout_ms),
                       TUTTI_ERR_INVALID_ARGUMENT, "rank 2 is not below the world size, 2");
    TUTTI_EXPECT_ERROR(rendezvous("env://", -2, -1, timeout_ms), TUTTI_ERR_INVALID_ARGUMENT,
                       "rank is -2");
    TUTTI_EXPECT_ERROR(rendezvous("env://", -1, 0, timeout_ms), TUTTI_ERR_INVALID_ARGUMENT,
                       "world_size is 0");
}

void arguments_win_over_the_environment(void**) {
    set_all("1");
    ::setenv("RANK", "nonsense", 1);
    ::setenv("WORLD_SIZE", "nonsense", 1);
    TUTTI_EXPECT_ERROR(rendezvous("env://", 5, 3, timeout_ms), TUTTI_ERR_INVALID_ARGUMENT,
                       "rank 5 is not below the world size, 3");
}

void a_malformed_address_is_refused_with_the_reason(void**) {
    const std::array<std::pair<const char*, const char*>, 10> wrong{
        {{"tcp://", "the host is missing"},
         {"tcp://:1", "the host is missing"},
         {"tcp://[]:1", "the host is missing"},
         {"tcp://host", "the port is missing"},
         {"tcp://host:", "the port is missing"},
         {"tcp://host/", "the port is missing"},
         {"tcp://host:/", "the port is missing"},
         {"tcp://[::1]", "the port is missing"},
         {"tcp://[::1:1", "the bracket does not close"},
         {"tcp://::1:1", "an IPv6 address needs brackets"}}};
    for (const auto& row : wrong) {
        TUTTI_EXPECT_ERROR(rendezvous(row.first, 0, 1, timeout_ms), TUTTI_ERR_INVALID_ARGUMENT,
                           row.second);
    }
    for (const char* port : {"0", "65536", "http", "1/x"}) {
        TUTTI_EXPECT_ERROR(rendezvous(tutti::cat("tcp://host:", port), 0, 1, timeout_ms),
                           TUTTI_ERR_INVALID_ARGUMENT, tutti::cat("is \"", port, "\""));
    }
}

void rank_and_world_size_must_be_given_where_nothing_else_tells(void**) {
    set_all("1");  // must not be looked at
    const Folder folder;
    for (const auto& method : {std::string("tcp://localhost:1"), folder.url()}) {
        TUTTI_EXPECT_ERROR(rendezvous(method, -1, 2, timeout_ms), TUTTI_ERR_INVALID_ARGUMENT,
                           "needs the argument rank");
        TUTTI_EXPECT_ERROR(rendezvous(method, 0, -1, timeout_ms), TUTTI_ERR_INVALID_ARGUMENT,
                           "needs the argument world_size");
    }
    assert_false(std::filesystem::exists(folder.file()));
}

// Everything that a URL may say, at every scheme that takes it; nobody has to meet for that.
void a_url_gives_rank_world_size_and_timeout(void**) {
    const Folder folder;
    const auto meeting = rendezvous(folder.url() + "?rank=1&&world_size=3&timeout=2.5", -1, -1, 0);
    assert_int_equal(meeting.rank, 1);
    assert_int_equal(meeting.world_size, 3);
    assert_int_equal(meeting.timeout_ms, 2500);
    assert_int_equal(meeting.store->timeout_ms(), 2500);
    assert_true(std::filesystem::exists(folder.file()));
    const auto plain = rendezvous(folder.url() + "?", 0, 3, 0);
    assert_int_equal(plain.timeout_ms, 1'800'000);

    const auto server = tutti::make_store_server("127.0.0.1", 0);
    const auto place = tutti::cat("tcp://[127.0.0.1]:", server->port());
    assert_int_equal(rendezvous(place + "?world_size=3", 2, -1, timeout_ms).rank, 2);
    assert_int_equal(rendezvous(place + "/?world_size=3&timeout=1e3", 2, -1, 0).timeout_ms,
                     1'000'000);
    assert_int_equal(rendezvous(place + "/", 2, 3, timeout_ms).rank, 2);
    set_all(std::to_string(server->port()));
    ::setenv("MASTER_ADDR", "[127.0.0.1]", 1);
    const auto by_environment =
        rendezvous("env://?rank=1&world_size=5&timeout=60", -1, 5, timeout_ms);
    assert_int_equal(by_environment.rank, 1);
    assert_int_equal(by_environment.world_size, 5);
}

void what_is_wrong_in_a_url_is_named(void**) {
    set_all("1");
    const std::array<std::pair<const char*, const char*>, 16> wrong{
        {{"rnak=0", "the parameter \"rnak\" is not known; there are rank, world_size and timeout"},
         {"use_libuv=1", "the parameter \"use_libuv\" is not known"},
         {"rank=0&=1", "the parameter \"\" is not known"},
         {"RANK=0", "the parameter \"RANK\" is not known"},
         {"rank", "parameter rank of init method"},
         {"rank=", "is \"\", not a whole number from 0"},
         {"rank=-1", "is \"-1\", not a whole number from 0"},
         {"rank=0=0", "is \"0=0\", not a whole number"},
         {"world_size=0", "is \"0\", not a whole number from 1"},
         {"rank=0&rank=0", "the parameter rank stands there twice"},
         {"timeout=1&timeout=1", "the parameter timeout stands there twice"},
         {"timeout=0", "the parameter timeout is \"0\", not a number of seconds above 0"},
         {"timeout=1s", "the parameter timeout is \"1s\""},
         {"timeout=1e3s", "the parameter timeout is \"1e3s\""},
         {"timeout=1e300", "the parameter timeout is \"1e300\""},
         {"timeout=nan", "the parameter timeout is \"nan\""}}};
    for (const char* method : {"tcp://localhost:1?", "file:///tmp/x?", "env://?"}) {
        for (const auto& [query, reason] : wrong) {
            const auto url = tutti::cat(method, query);
            for (const auto& fragment : {std::string(reason), tutti::cat("\"", url, "\"")}) {
                TUTTI_EXPECT_ERROR(rendezvous(url, -1, -1, 0), TUTTI_ERR_INVALID_ARGUMENT,
                                   fragment);
            }
        }
    }
    TUTTI_EXPECT_ERROR(rendezvous("env://host?rank=0", -1, -1, 0), TUTTI_ERR_INVALID_ARGUMENT,
                       "nothing but parameters may follow env://");
}

void a_url_and_arguments_must_agree(void**) {
    const Folder folder;
    const auto url = folder.url() + "?rank=1&world_size=2&timeout=60";
    TUTTI_EXPECT_ERROR(rendezvous(url, 0, -1, 0), TUTTI_ERR_INVALID_ARGUMENT,
                       "says that rank is 1, and the argument says 0");
    TUTTI_EXPECT_ERROR(rendezvous(url, -1, 3, 0), TUTTI_ERR_INVALID_ARGUMENT,
                       "says that world_size is 2, and the argument says 3");
    TUTTI_EXPECT_ERROR(rendezvous(url, -1, -1, 1000), TUTTI_ERR_INVALID_ARGUMENT,
                       "says that timeout is 60000 ms, and options.timeout_ms says 1000");
    TUTTI_EXPECT_ERROR(rendezvous(url, -1, -1, -1), TUTTI_ERR_INVALID_ARGUMENT,
                       "options.timeout_ms says -1");
    assert_int_equal(rendezvous(url, 1, 2, 60'000).rank, 1);
}

void malformed_variables_of_the_library_are_named(void**) {
    const std::array<std::pair<const char*, const char*>, 8> wrong{
        {{"TUTTI_CPU", "sse9"},
         {"TUTTI_SOCKET_IFNAME", "none0"},
         {"GLOO_SOCKET_IFNAME", "lo,,lo"},
         {"TUTTI_LOG_LEVEL", "loud"},
         {"TORCH_CPP_LOG_LEVEL", "4"},
         {"TORCH_DISTRIBUTED_DEBUG", "1"},
         {"TUTTI_HEARTBEAT_MS", "0"},
         {"TUTTI_HEARTBEAT_TIMEOUT_MS", "soon"}}};
    tutti::check_environment();
    for (const auto& [name, value] : wrong) {
        ::setenv(name, value, 1);
        TUTTI_EXPECT_ERROR(tutti::check_environment(), TUTTI_ERR_INVALID_ARGUMENT, name);
        ::unsetenv(name);
    }
    tutti::check_environment();
}

void a_path_that_is_not_a_file_is_refused(void**) {
    for (const char* method : {"file://", "file://here", "file:///", "file:///folder/"}) {
        TUTTI_EXPECT_ERROR(rendezvous(method, 0, 1, timeout_ms), TUTTI_ERR_INVALID_ARGUMENT,
                           "an absolute path");
    }
}

void a_file_brings_ranks_together_under_the_default_prefix(void**) {
    const Folder folder;
    const auto first = rendezvous(folder.url(), 0, 2, timeout_ms);
    const auto second = rendezvous(folder.url(), 1, 2, timeout_ms);
    assert_int_equal(first.rank, 0);
    assert_int_equal(second.rank, 1);
    assert_int_equal(second.world_size, 2);
    assert_int_equal(first.store->timeout_ms(), timeout_ms);
    first.store->set("key", "value", Deadline::after_ms(timeout_ms));
    assert_string_equal(second.store->get("key", Deadline::after_ms(timeout_ms)).c_str(), "value");
    const auto bare = tutti::make_file_store(folder.file(), 2);
    assert_string_equal(bare->get("default_pg/key", Deadline::after_ms(timeout_ms)).c_str(),
                        "value");
}

void a_rank_that_is_taken_in_the_file_is_refused(void**) {
    const Folder folder;
    {
        const auto first = rendezvous(folder.url(), 0, 2, timeout_ms);
        TUTTI_EXPECT_ERROR(rendezvous(folder.url(), 0, 2, timeout_ms), TUTTI_ERR_INVALID_ARGUMENT,
                           "has come as rank 0 of 2");
        TUTTI_EXPECT_ERROR(rendezvous(folder.url(), 2, 3, timeout_ms), TUTTI_ERR_INVALID_ARGUMENT,
                           "has come as rank 0 of 2");
    }
    assert_int_equal(rendezvous(folder.url(), 0, 2, timeout_ms).rank, 0);
}

void a_file_that_stays_locked_is_waited_for_until_the_timeout(void**) {
    const Folder folder;
    const int other = ::open(folder.file().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(::flock(other, LOCK_EX), 0);
    TUTTI_EXPECT_ERROR(rendezvous(folder.url(), 0, 1, 50), TUTTI_ERR_TIMEOUT,
                       "timed out waiting for its lock");
    ::close(other);
    assert_int_equal(rendezvous(folder.url(), 0, 1, timeout_ms).rank, 0);
}

// Rank 0 finds the port taken if it serves; as a client of the launcher's store it does not.
void under_a_launcher_no_rank_serves_the_store(void**) {
    const auto server = tutti::make_store_server("127.0.0.1", 0);
    set_all(std::to_string(server->port()));
    ::setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
    const auto meeting = rendezvous("env://", -1, -1, timeout_ms);
    assert_int_equal(meeting.rank, 0);
    assert_int_equal(meeting.world_size, 1);
    meeting.store->set("key", "value", Deadline::after_ms(timeout_ms));

    tutti::TcpStoreOptions options;
    options.host = "127.0.0.1";
    options.port = server->port();
    options.wait_for_workers = false;
    const auto bare = tutti::make_tcp_store(options);
    assert_string_equal(bare->get("default_pg/key", Deadline::after_ms(timeout_ms)).c_str(),
                        "value");

    ::setenv("TORCHELASTIC_USE_AGENT_STORE", "False", 1);
    TUTTI_EXPECT_ERROR(rendezvous("env://", -1, -1, timeout_ms), TUTTI_ERR_NETWORK, "");
}

void another_launcher_tells_what_torchruns_variables_do_not(void**) {
    const auto server = tutti::make_store_server("127.0.0.1", 0);
    unset_all();
    ::setenv("PMI_RANK", "1", 1);
    ::setenv("PMI_SIZE", "3", 1);
    TUTTI_EXPECT_ERROR(rendezvous("env://", -1, -1, timeout_ms), TUTTI_ERR_INVALID_ARGUMENT,
                       "PMI does not tell the address of the host of rank 0: set environment "
                       "variable MASTER_ADDR");
    ::setenv("MPI_LOCALNRANKS", "3", 1);
    ::setenv("MASTER_PORT", std::to_string(server->port()).c_str(), 1);
    const auto meeting = rendezvous("env://", -1, -1, timeout_ms);
    assert_int_equal(meeting.rank, 1);
    assert_int_equal(meeting.world_size, 3);
    // torchrun's own variables win, and both are needed then.
    ::setenv("RANK", "2", 1);
    TUTTI_EXPECT_ERROR(rendezvous("env://", -1, -1, timeout_ms), TUTTI_ERR_INVALID_ARGUMENT,
                       "environment variable WORLD_SIZE is not set");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(an_unknown_scheme_is_named_with_the_known_ones),
        TUTTI_TEST(a_missing_variable_is_named),
        TUTTI_TEST(rank_0_serves_at_every_address_if_none_is_given),
        TUTTI_TEST(a_malformed_variable_is_named_with_its_text),
        TUTTI_TEST(a_rank_outside_the_world_is_refused),
        TUTTI_TEST(arguments_win_over_the_environment),
        TUTTI_TEST(a_malformed_address_is_refused_with_the_reason),
        TUTTI_TEST(rank_and_world_size_must_be_given_where_nothing_else_tells),
        TUTTI_TEST(a_url_gives_rank_world_size_and_timeout),
        TUTTI_TEST(what_is_wrong_in_a_url_is_named),
        TUTTI_TEST(a_url_and_arguments_must_agree),
        TUTTI_TEST(malformed_variables_of_the_library_are_named),
        TUTTI_TEST(a_path_that_is_not_a_file_is_refused),
        TUTTI_TEST(a_file_brings_ranks_together_under_the_default_prefix),
        TUTTI_TEST(a_rank_that_is_taken_in_the_file_is_refused),
        TUTTI_TEST(a_file_that_stays_locked_is_waited_for_until_the_timeout),
        TUTTI_TEST(under_a_launcher_no_rank_serves_the_store),
        TUTTI_TEST(another_launcher_tells_what_torchruns_variables_do_not),
    };
    unset_all();
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
