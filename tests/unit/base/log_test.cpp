// Does the environment choose the level as documented, and does a listener hear every line, in
// order, and none once it has been replaced? Sets environment variables.
#include "base/log.hpp"

#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/debug_level.hpp"
#include "base/mutex.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;

constexpr const char* own = "TUTTI_LOG_LEVEL";
constexpr const char* torch = "TORCH_CPP_LOG_LEVEL";
constexpr const char* debug = "TORCH_DISTRIBUTED_DEBUG";

void set(const char* name, const char* value) {
    if (value == nullptr) {
        ::unsetenv(name);
    } else {
        ::setenv(name, value, 1);
    }
}

// The lines that a listener has heard; any thread.
class Heard {
public:
    void add(LogLevel level, const std::string& text) {
        const Lock lock(mutex_);
        lines_.emplace_back(level, text);
        changed_.notify_all();
    }
    void await(size_t count) {
        Lock lock(mutex_);
        while (lines_.size() < count) changed_.wait(lock);
    }
    std::vector<std::pair<LogLevel, std::string>> lines() {
        const Lock lock(mutex_);
        return lines_;
    }

private:
    Mutex mutex_;
    Condition changed_;
    std::vector<std::pair<LogLevel, std::string>> lines_ TUTTI_GUARDED_BY(mutex_);
};

LogListener into(Heard& heard) {
    return [&heard](LogLevel level, const std::string& text) { heard.add(level, text); };
}

void the_level_is_that_of_the_documented_matrix(void**) {
    const struct {
        const char *own, *torch, *debug;
        LogLevel level;
    } rows[] = {
        {nullptr, nullptr, nullptr, LogLevel::Off},
        {nullptr, nullptr, "DETAIL", LogLevel::Off},
        {nullptr, "ERROR", "DETAIL", LogLevel::Error},
        {nullptr, "WARNING", "DETAIL", LogLevel::Warning},
        {nullptr, "INFO", nullptr, LogLevel::Info},
        {nullptr, "INFO", "OFF", LogLevel::Info},
        {nullptr, "INFO", "INFO", LogLevel::Debug},
        {nullptr, "INFO", "DETAIL", LogLevel::Trace},
        {nullptr, "info", "detail", LogLevel::Trace},
        {nullptr, "FATAL", "DETAIL", LogLevel::Off},
        {nullptr, "0", nullptr, LogLevel::Info},
        {nullptr, "1", nullptr, LogLevel::Warning},
        {nullptr, "2", nullptr, LogLevel::Error},
        {nullptr, "3", nullptr, LogLevel::Off},
        {"", "", "", LogLevel::Off},
        {"warning", "INFO", "DETAIL", LogLevel::Warning},
        {"off", "INFO", "DETAIL", LogLevel::Off},
        {"Error", nullptr, nullptr, LogLevel::Error},
        {"info", nullptr, nullptr, LogLevel::Info},
        {"debug", nullptr, nullptr, LogLevel::Debug},
        {"trace", "ERROR", nullptr, LogLevel::Trace},
        {"trace", "nonsense", "nonsense", LogLevel::Trace},  // not looked at
    };
    for (const auto& row : rows) {
        set(own, row.own);
        set(torch, row.torch);
        set(debug, row.debug);
        assert_int_equal(log_level_by_environment(), row.level);
    }
}

void a_malformed_variable_is_named(void**) {
    for (const char* value : {"loud", "warn", "1", " info"}) {
        set(own, value);
        TUTTI_EXPECT_ERROR(log_level_by_environment(), TUTTI_ERR_INVALID_ARGUMENT,
                           cat("environment variable TUTTI_LOG_LEVEL is \"", value,
                               "\"; it may be off, error, warning, info, debug or trace"));
    }
    set(own, nullptr);
    for (const char* value : {"debug", "4", "-1", "INFO "}) {
        set(torch, value);
        TUTTI_EXPECT_ERROR(log_level_by_environment(), TUTTI_ERR_INVALID_ARGUMENT,
                           cat("environment variable TORCH_CPP_LOG_LEVEL is \"", value, "\""));
    }
    set(torch, "INFO");
    set(debug, "FULL");
    TUTTI_EXPECT_ERROR(log_level_by_environment(), TUTTI_ERR_INVALID_ARGUMENT,
                       "environment variable TORCH_DISTRIBUTED_DEBUG is \"FULL\"; it may be OFF, "
                       "INFO or DETAIL");
    set(torch, nullptr);
    TUTTI_EXPECT_ERROR(debug_level_by_environment(), TUTTI_ERR_INVALID_ARGUMENT, debug);
    set(debug, nullptr);
}

void a_listener_hears_what_was_said_in_its_time(void**) {
    Heard first;
    Heard second;
    log(LogLevel::Error, "to nobody");
    set_log_listener(into(first), LogLevel::Info);
    assert_true(log_enabled(LogLevel::Info));
    assert_false(log_enabled(LogLevel::Debug));
    assert_false(log_enabled(LogLevel::Off));
    constexpr int count = 1000;
    for (int i = 0; i < count; ++i) {
        log(LogLevel::Info, "line ", i);
        log(LogLevel::Debug, "not heard");
    }
    set_log_listener(into(second), LogLevel::Trace);
    const auto lines = first.lines();  // all of them, without waiting
    assert_int_equal(lines.size(), count);
    for (int i = 0; i < count; ++i) {
        assert_string_equal(lines[static_cast<size_t>(i)].second.c_str(), cat("line ", i).c_str());
        assert_int_equal(lines[static_cast<size_t>(i)].first, LogLevel::Info);
    }
    log(LogLevel::Trace, "for the second");
    set_log_listener({}, LogLevel::Off);
    assert_int_equal(second.lines().size(), 1);
    assert_false(log_enabled(LogLevel::Error));
    log(LogLevel::Error, "to nobody");
    assert_int_equal(first.lines().size(), count);
}

void what_a_listener_hears_is_one_line(void**) {
    Heard heard;
    set_log_listener(into(heard), LogLevel::Info);
    log(LogLevel::Info, "group \"a\n[tutti error 1] control: rank 0 died\"\x1b[1m \xff");
    set_log_listener({}, LogLevel::Off);
    assert_string_equal(heard.lines().at(0).second.c_str(),
                        "group \"a\\n[tutti error 1] control: rank 0 died\"\\u001b[1m "
                        "\xef\xbf\xbd");
}

void a_listener_may_log_and_replace_itself(void**) {
    Heard first;
    Heard second;
    std::promise<void> told_everything;
    set_log_listener(
        [&](LogLevel level, const std::string& text) {
            told_everything.get_future().wait();
            first.add(level, text);
            log(LogLevel::Info, "said by the listener");
            set_log_listener(into(second), LogLevel::Info);
        },
        LogLevel::Info);
    log(LogLevel::Info, "first");
    log(LogLevel::Info, "second");
    told_everything.set_value();
    second.await(2);
    set_log_listener({}, LogLevel::Off);
    assert_int_equal(first.lines().size(), 1);
    assert_int_equal(second.lines().size(), 2);
    assert_string_equal(second.lines()[0].second.c_str(), "second");
    assert_string_equal(second.lines()[1].second.c_str(), "said by the listener");
}

void a_slow_listener_is_told_how_much_it_missed(void**) {
    Heard heard;
    std::promise<void> called;
    std::promise<void> released;
    bool first = true;
    set_log_listener(
        [&](LogLevel level, const std::string& text) {
            if (std::exchange(first, false)) {
                called.set_value();
                released.get_future().wait();
            }
            heard.add(level, text);
        },
        LogLevel::Info);
    log(LogLevel::Info, "blocks");
    called.get_future().wait();
    for (int i = 0; i < 10'007; ++i) log(LogLevel::Info, "line ", i);
    released.set_value();
    heard.await(10'001);
    log(LogLevel::Info, "after");
    set_log_listener({}, LogLevel::Off);
    const auto lines = heard.lines();
    assert_int_equal(lines.size(), 10'003);
    assert_string_equal(lines[10'000].second.c_str(), "line 9999");
    assert_non_null(::strstr(lines[10'001].second.c_str(), " 7 lines were dropped"));
    assert_string_equal(lines[10'002].second.c_str(), "after");
}

void many_threads_may_log_and_replace_listeners(void**) {
    std::vector<std::unique_ptr<Heard>> listeners;
    for (int i = 0; i < 8; ++i) listeners.push_back(std::make_unique<Heard>());
    set_log_listener(into(*listeners[0]), LogLevel::Info);
    constexpr int threads = 4;
    constexpr int each = 500;
    std::vector<std::thread> running;
    for (int one = 0; one < threads; ++one) {
        running.emplace_back([&, one] {
            for (int i = 0; i < each; ++i) {
                log(LogLevel::Info, one);
                if (i % 250 == 100) {
                    set_log_listener(into(*listeners[static_cast<size_t>(2 * one + i / 250)]),
                                     LogLevel::Info);
                }
            }
        });
    }
    for (auto& one : running) one.join();
    set_log_listener({}, LogLevel::Off);
    size_t total = 0;
    for (const auto& one : listeners) total += one->lines().size();
    // Lines that fell between two listeners may be missing, none may be double.
    assert_in_range(total, 1, threads * each);
}

}  // namespace

int main() {
    for (const char* name : {own, torch, debug}) ::unsetenv(name);
    const CMUnitTest tests[] = {
        TUTTI_TEST(the_level_is_that_of_the_documented_matrix),
        TUTTI_TEST(a_malformed_variable_is_named),
        TUTTI_TEST(a_listener_hears_what_was_said_in_its_time),
        TUTTI_TEST(what_a_listener_hears_is_one_line),
        TUTTI_TEST(a_listener_may_log_and_replace_itself),
        TUTTI_TEST(a_slow_listener_is_told_how_much_it_missed),
        TUTTI_TEST(many_threads_may_log_and_replace_listeners),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
