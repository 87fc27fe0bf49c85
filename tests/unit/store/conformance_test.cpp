// One suite over every kind of store: what a store promises does not depend on where it lives.
// Values, counters and waits.
#include <algorithm>
#include <atomic>
#include <thread>

#include "kinds.hpp"
#include "store/limits.hpp"

namespace {

using namespace tutti::test;
using tutti::cat;
using tutti::Deadline;
using tutti::Store;

void what_is_set_is_read_and_replaced(void**) {
    const Opened stores = open_store();
    stores.first->set("key", "one", ample());
    assert_string_equal(stores.second->get("key", ample()).c_str(), "one");
    stores.second->set("key", "two", ample());
    assert_string_equal(stores.second->get("key", ample()).c_str(), "two");
}

void a_handle_reads_what_it_has_written(void**) {
    const Opened stores = open_store();
    for (int i = 0; i < 300; ++i) {
        const std::string value = std::to_string(i);
        stores.first->set("key", value, ample());
        assert_string_equal(stores.first->get("key", ample()).c_str(), value.c_str());
    }
}

void values_may_be_empty_large_and_of_any_bytes(void**) {
    const Opened stores = open_store();
    std::string bytes;
    for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
    std::string large(1 << 20, '\0');
    for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 2654435761u >> 11);
    for (const std::string& value : {std::string(), bytes, large}) {
        stores.first->set("key", value, ample());
        assert_true(stores.first->get("key", ample()) == value);
        assert_true(stores.second->multi_get(Names{"key"}, ample()).at(0) == value);
    }
}

void keys_may_be_empty_and_of_any_bytes(void**) {
    const Opened stores = open_store();
    std::string bytes;
    for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
    for (const std::string& key : {std::string(), bytes, std::string("/"), std::string("-/key")}) {
        stores.first->set(key, "here", ample());
        assert_string_equal(stores.second->get(key, ample()).c_str(), "here");
        assert_true(stores.first->delete_key(key, ample()));
        assert_false(stores.second->check(Names{key}, ample()));
    }
}

void a_key_beyond_the_limit_is_an_invalid_argument(void**) {
    const Opened stores = open_store();
    const std::string longest(8000, 'k');
    stores.first->set(longest, "fits", ample());
    assert_string_equal(stores.second->get(longest, ample()).c_str(), "fits");
    const std::string longer(tutti::StoreLimits().key_bytes + 1, 'k');
    TUTTI_EXPECT_ERROR(stores.first->set(longer, "", ample()), TUTTI_ERR_INVALID_ARGUMENT, "8192");
    TUTTI_EXPECT_ERROR(stores.first->get(longer, ample()), TUTTI_ERR_INVALID_ARGUMENT, "8192");
    TUTTI_EXPECT_ERROR(stores.first->wait(Names{longer}, ample()), TUTTI_ERR_INVALID_ARGUMENT,
                       "8192");
    const Names many(tutti::StoreLimits().keys_per_request + 1);
    TUTTI_EXPECT_ERROR(stores.first->check(many, ample()), TUTTI_ERR_INVALID_ARGUMENT,
                       "131073 keys");
}

void a_blocked_wait_does_not_delay_other_calls_of_its_handle(void**) {
    const Opened stores = open_store();
    std::string got;
    std::vector<std::string> got_many;
    std::thread getter([&, &store = stores.first] { got = store->get("late", Deadline::never()); });
    std::thread waiter(
        [&, &store = stores.first] { store->wait(Names{"late"}, Deadline::never()); });
    std::thread many([&, &store = stores.first] {
        got_many = store->multi_get(Names{"early", "late"}, Deadline::never());
    });
    // None of the threads can end before the last of these calls, on the handle they wait on.
    stores.first->set("early", "1", ample());
    assert_string_equal(stores.first->get("early", ample()).c_str(), "1");
    assert_int_equal(stores.first->add("counter", 3, ample()), 3);
    stores.first->set("late", "2", ample());
    getter.join();
    waiter.join();
    many.join();
    assert_string_equal(got.c_str(), "2");
    assert_true((got_many == Names{"1", "2"}));
}

void a_wait_ends_when_another_handle_sets_the_last_key(void**) {
    const Opened stores = open_store();
    Names keys;
    for (int i = 0; i < 200; ++i) keys.push_back(cat("key ", i));
    std::thread setter([&, &store = stores.second] {
        for (size_t i = keys.size(); i-- > 1;) store->set(keys[i], "", ample());
        store->add(keys[0], 1, ample());
    });
    stores.first->wait(keys, ample());
    assert_true(stores.first->check(keys, ample()));
    setter.join();
}

void every_change_that_makes_a_key_ends_a_wait(void**) {
    const Opened stores = open_store();
    const std::function<void(Store&, const std::string&)> ways[] = {
        [](Store& store, const auto& key) { store.set(key, "x", ample()); },
        [](Store& store, const auto& key) { store.add(key, 1, ample()); },
        [](Store& store, const auto& key) { store.append(key, "x", ample()); },
        [](Store& store, const auto& key) { store.compare_set(key, "", "x", ample()); },
        [](Store& store, const auto& key) {
            const std::pair<std::string, std::string> pair(key, "x");
            store.multi_set({&pair, 1}, ample());
        },
    };
    int number = 0;
    for (const auto& way : ways) {
        const std::string key = cat("key ", number++);
        std::thread changer([&, &store = stores.second] { way(*store, key); });
        stores.first->wait(Names{key}, ample());
        changer.join();
    }
}

void waits_that_time_out_name_their_keys_and_leave_the_handle_usable(void**) {
    const Opened stores = open_store();
    for (int round = 0; round < 3; ++round) {
        const std::string key = cat("missing ", round);
        TUTTI_EXPECT_ERROR(stores.first->get(key, soon()), TUTTI_ERR_TIMEOUT, key);
        TUTTI_EXPECT_ERROR(stores.first->wait(Names{key}, soon()), TUTTI_ERR_TIMEOUT, key);
        TUTTI_EXPECT_ERROR(stores.first->multi_get(Names{key, "other"}, soon()), TUTTI_ERR_TIMEOUT,
                           key);
        stores.first->set(key, "there", ample());
        assert_string_equal(stores.second->get(key, ample()).c_str(), "there");
        std::thread setter([&, &store = stores.second] { store->set(key + "!", "too", ample()); });
        assert_string_equal(stores.first->get(key + "!", ample()).c_str(), "too");
        setter.join();
    }
}

void add_counts_in_decimal_text(void**) {
    const Opened stores = open_store();
    assert_int_equal(stores.first->add("n", 5, ample()), 5);
    assert_int_equal(stores.second->add("n", -7, ample()), -2);
    assert_string_equal(stores.first->get("n", ample()).c_str(), "-2");
    stores.first->set("n", "41", ample());
    assert_int_equal(stores.first->add("n", 1, ample()), 42);
    assert_int_equal(stores.first->add("n", 0, ample()), 42);
    assert_int_equal(stores.first->add("least", INT64_MIN, ample()), INT64_MIN);
    assert_int_equal(stores.first->add("least", 0, ample()), INT64_MIN);
}

void add_to_what_is_no_number_fails_and_changes_nothing(void**) {
    const Opened stores = open_store();
    for (const char* text : {"text", "", "1x", " 1", "99999999999999999999"}) {
        stores.first->set("n", text, ample());
        TUTTI_EXPECT_ERROR(stores.first->add("n", 1, ample()), TUTTI_ERR_STORE, "\"");
        assert_string_equal(stores.first->get("n", ample()).c_str(), text);
    }
    stores.first->set("most", std::to_string(INT64_MAX), ample());
    TUTTI_EXPECT_ERROR(stores.first->add("most", 1, ample()), TUTTI_ERR_STORE, "most\"");
    assert_int_equal(stores.second->add("other", 1, ample()), 1);
}

void eight_threads_add_without_losing_one(void**) {
    const Opened stores = open_store();
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&store = t % 2 == 0 ? stores.first : stores.second] {
            for (int i = 0; i < 50; ++i) store->add("n", 1, ample());
        });
    for (std::thread& thread : threads) thread.join();
    assert_int_equal(stores.first->add("n", 0, ample()), 400);
}

void append_adds_to_the_end(void**) {
    const Opened stores = open_store();
    stores.first->append("log", "one ", ample());
    stores.first->append("log", "", ample());
    stores.first->append("log", "two", ample());
    assert_string_equal(stores.first->get("log", ample()).c_str(), "one two");
}

void check_wants_all_keys(void**) {
    const Opened stores = open_store();
    assert_true(stores.first->check(Names{}, ample()));
    assert_false(stores.first->check(Names{"a"}, ample()));
    stores.first->set("a", "", ample());
    assert_true(stores.first->check(Names{"a"}, ample()));
    assert_true(stores.first->check(Names{"a", "a"}, ample()));
    assert_false(stores.first->check(Names{"a", "b"}, ample()));
}

void no_keys_are_there_at_once(void**) {
    const Opened stores = open_store();
    stores.first->wait(Names{}, ample());
    assert_true(stores.first->multi_get(Names{}, ample()).empty());
    stores.first->multi_set({}, ample());
}

void compare_set_swaps_only_the_expected_value(void**) {
    const Opened stores = open_store();
    assert_string_equal(stores.first->compare_set("k", "wrong", "v", ample()).c_str(), "wrong");
    assert_false(stores.first->check(Names{"k"}, ample()));
    assert_string_equal(stores.first->compare_set("k", "", "v1", ample()).c_str(), "v1");
    assert_string_equal(stores.second->compare_set("k", "", "v2", ample()).c_str(), "v1");
    assert_string_equal(stores.second->compare_set("k", "other", "v2", ample()).c_str(), "v1");
    assert_string_equal(stores.second->compare_set("k", "v1", "", ample()).c_str(), "");
    assert_string_equal(stores.first->get("k", ample()).c_str(), "");
    assert_string_equal(stores.first->compare_set("k", "", "v3", ample()).c_str(), "v3");
    assert_string_equal(stores.second->get("k", ample()).c_str(), "v3");
}

void one_of_many_wins_a_compare_set(void**) {
    const Opened stores = open_store();
    std::atomic<int> winners{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&, t, &store = t % 2 == 0 ? stores.first : stores.second] {
            const std::string mine = cat("thread ", t);
            if (store->compare_set("first", "", mine, ample()) == mine) ++winners;
        });
    for (std::thread& thread : threads) thread.join();
    assert_int_equal(winners.load(), 1);
}

void a_deleted_key_is_gone_and_can_come_back(void**) {
    const Opened stores = open_store();
    assert_false(stores.first->delete_key("k", ample()));
    stores.first->set("k", "v", ample());
    assert_true(stores.first->delete_key("k", ample()));
    assert_false(stores.second->delete_key("k", ample()));
    assert_false(stores.second->check(Names{"k"}, ample()));
    TUTTI_EXPECT_ERROR(stores.second->get("k", soon()), TUTTI_ERR_TIMEOUT, "k\"");
    assert_int_equal(stores.first->add("k", 2, ample()), 2);
    assert_string_equal(stores.second->get("k", ample()).c_str(), "2");
}

void several_values_keep_their_order(void**) {
    const Opened stores = open_store();
    const std::vector<std::pair<std::string, std::string>> pairs = {
        {"b", "2"}, {"a", "1"}, {"empty", ""}, {"b", "3"}};
    stores.first->multi_set(pairs, ample());
    assert_true((stores.first->multi_get(Names{"a", "b", "empty", "a"}, ample()) ==
                 Names{"1", "3", "", "1"}));
    assert_true((stores.second->multi_get(Names{"empty", "b"}, ample()) == Names{"", "3"}));
}

void keys_are_counted(void**) {
    const Opened stores = open_store();
    const int64_t before = stores.first->num_keys(ample());
    stores.first->set("a", "", ample());
    stores.first->add("b", 1, ample());
    stores.first->set("a", "again", ample());
    assert_int_equal(stores.first->num_keys(ample()), before + 2);
    stores.first->delete_key("a", ample());
    assert_int_equal(stores.second->num_keys(ample()), before + 1);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(what_is_set_is_read_and_replaced),
        TUTTI_TEST(a_handle_reads_what_it_has_written),
        TUTTI_TEST(values_may_be_empty_large_and_of_any_bytes),
        TUTTI_TEST(keys_may_be_empty_and_of_any_bytes),
        TUTTI_TEST(a_key_beyond_the_limit_is_an_invalid_argument),
        TUTTI_TEST(a_blocked_wait_does_not_delay_other_calls_of_its_handle),
        TUTTI_TEST(a_wait_ends_when_another_handle_sets_the_last_key),
        TUTTI_TEST(every_change_that_makes_a_key_ends_a_wait),
        TUTTI_TEST(waits_that_time_out_name_their_keys_and_leave_the_handle_usable),
        TUTTI_TEST(add_counts_in_decimal_text),
        TUTTI_TEST(add_to_what_is_no_number_fails_and_changes_nothing),
        TUTTI_TEST(eight_threads_add_without_losing_one),
        TUTTI_TEST(append_adds_to_the_end),
        TUTTI_TEST(check_wants_all_keys),
        TUTTI_TEST(no_keys_are_there_at_once),
        TUTTI_TEST(compare_set_swaps_only_the_expected_value),
        TUTTI_TEST(one_of_many_wins_a_compare_set),
        TUTTI_TEST(a_deleted_key_is_gone_and_can_come_back),
        TUTTI_TEST(several_values_keep_their_order),
        TUTTI_TEST(keys_are_counted),
    };
    return run_for_every_kind(tests);
}
