// One suite over every kind of store, continued: queues, barriers, lists of keys, clones.
#include <algorithm>
#include <atomic>
#include <thread>

#include "kinds.hpp"

namespace {

using namespace tutti::test;
using tutti::cat;
using tutti::Deadline;
using tutti::Store;

void the_keys_are_listed(void**) {
    const Opened stores = open_store();
    stores.first->set("a", "", ample());
    stores.second->add("b/c", 1, ample());
    stores.first->set("gone", "", ample());
    stores.first->delete_key("gone", ample());
    stores.first->queue_push("queue", "not a key", ample());
    Names keys = stores.second->list_keys(ample());
    std::sort(keys.begin(), keys.end());
    assert_true((keys == Names{"a", "b/c"}));
}

void a_queue_gives_each_value_once_in_order(void**) {
    const Opened stores = open_store();
    std::string bytes(70'000, '\0');
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
    assert_int_equal(stores.first->queue_len("q", ample()), 0);
    for (int round = 0; round < 2; ++round) {
        for (const std::string& value : {std::string("one"), std::string(), bytes})
            stores.first->queue_push("q", value, ample());
        // Nothing answers a push: another handle sees it for sure once its own has.
        assert_int_equal(stores.first->queue_len("q", ample()), 3);
        assert_int_equal(stores.second->queue_len("q", ample()), 3);
        assert_string_equal(stores.second->queue_pop("q", false, ample()).c_str(), "one");
        assert_string_equal(stores.first->queue_pop("q", true, ample()).c_str(), "");
        assert_true(stores.second->queue_pop("q", true, ample()) == bytes);
        assert_int_equal(stores.first->queue_len("q", ample()), 0);
    }
}

void an_empty_queue_is_said_to_be_empty_or_waited_for(void**) {
    const Opened stores = open_store();
    TUTTI_EXPECT_ERROR(stores.first->queue_pop("q", false, ample()), TUTTI_ERR_QUEUE_EMPTY,
                       "q\" at the ");
    TUTTI_EXPECT_ERROR(stores.first->queue_pop("q", true, soon()), TUTTI_ERR_TIMEOUT, "q\"");
    std::thread pusher([&, &store = stores.second] { store->queue_push("q", "late", ample()); });
    assert_string_equal(stores.first->queue_pop("q", true, Deadline::never()).c_str(), "late");
    pusher.join();
    TUTTI_EXPECT_ERROR(stores.second->queue_pop("q", false, ample()), TUTTI_ERR_QUEUE_EMPTY, "q");
}

void queues_are_found_by_check_and_wait_and_deleted(void**) {
    const Opened stores = open_store();
    assert_false(stores.first->check(Names{"q"}, ample()));
    std::thread waiter([&, &store = stores.first] { store->wait(Names{"q"}, Deadline::never()); });
    stores.second->queue_push("q", "a", ample());
    waiter.join();
    stores.second->queue_push("q", "b", ample());
    assert_int_equal(stores.second->queue_len("q", ample()), 2);
    assert_true(stores.first->check(Names{"q"}, ample()));
    assert_true(stores.first->delete_key("q", ample()));
    assert_false(stores.first->delete_key("q", ample()));
    assert_false(stores.second->check(Names{"q"}, ample()));
    assert_int_equal(stores.second->queue_len("q", ample()), 0);
}

void many_poppers_share_what_many_pushers_push(void**) {
    const Opened stores = open_store();
    constexpr int each = 25;
    std::vector<std::thread> threads;
    std::atomic<int> sum{0};
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, &store = t % 2 == 0 ? stores.first : stores.second] {
            for (int i = 0; i < each; ++i)
                sum += std::stoi(store->queue_pop("q", true, Deadline::never()));
        });
        threads.emplace_back([&, t, &store = t % 2 == 0 ? stores.second : stores.first] {
            for (int i = 0; i < each; ++i)
                store->queue_push("q", std::to_string(t * each + i), ample());
        });
    }
    for (std::thread& thread : threads) thread.join();
    assert_int_equal(sum.load(), 4 * each * (4 * each - 1) / 2);
    assert_int_equal(stores.first->queue_len("q", ample()), 0);
}

void a_barrier_holds_all_until_the_last_and_lets_late_ones_pass(void**) {
    const Opened stores = open_store();
    constexpr int size = 6;
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < size; ++t)
        threads.emplace_back([&, t, &store = t % 2 == 0 ? stores.first : stores.second] {
            store->set(cat("before ", t), "", ample());
            store->barrier("b", size, Deadline::never());
            Names all;
            for (int i = 0; i < size; ++i) all.push_back(cat("before ", i));
            if (!store->check(all, ample())) ++wrong;
        });
    for (std::thread& thread : threads) thread.join();
    assert_int_equal(wrong.load(), 0);
    stores.first->barrier("b", size, ample());
    stores.first->barrier("of one", 1, ample());
}

void a_barrier_that_times_out_names_its_key_and_leaves_the_handle_usable(void**) {
    const Opened stores = open_store();
    TUTTI_EXPECT_ERROR(stores.first->barrier("b", 2, soon()), TUTTI_ERR_TIMEOUT, "b\"");
    TUTTI_EXPECT_ERROR(stores.first->barrier("other", 2, soon()), TUTTI_ERR_TIMEOUT, "other\"");
    // A caller that gave up may have been counted, or not have got so far: two more are enough.
    std::thread second([&, &store = stores.second] { store->barrier("b", 2, ample()); });
    stores.first->barrier("b", 2, ample());
    second.join();
    TUTTI_EXPECT_ERROR(stores.first->barrier("none", 0, ample()), TUTTI_ERR_INVALID_ARGUMENT,
                       "world_size is 0");
    assert_int_equal(stores.first->add("usable", 1, ample()), 1);
}

void a_blocked_pop_or_barrier_does_not_delay_other_calls_of_its_handle(void**) {
    const Opened stores = open_store();
    std::string popped;
    std::thread popper(
        [&, &store = stores.first] { popped = store->queue_pop("q", true, Deadline::never()); });
    std::thread comer([&, &store = stores.first] { store->barrier("b", 2, Deadline::never()); });
    // Neither thread can end before the last two of these calls, on the handle they wait on.
    assert_int_equal(stores.first->add("counter", 3, ample()), 3);
    stores.first->set("key", "value", ample());
    assert_string_equal(stores.first->get("key", ample()).c_str(), "value");
    stores.first->queue_push("q", "late", ample());
    stores.first->barrier("b", 2, ample());
    popper.join();
    comer.join();
    assert_string_equal(popped.c_str(), "late");
}

void a_clone_is_another_handle_of_the_same_store(void**) {
    Opened stores = open_store();
    stores.first->set_timeout_ms(1234);
    const auto clone = stores.first->clone(ample());
    assert_int_equal(clone->timeout_ms(), 1234);
    clone->set_timeout_ms(99);
    assert_int_equal(stores.first->timeout_ms(), 1234);
    stores.first->set("k", "v", ample());
    assert_string_equal(stores.first->get("k", ample()).c_str(), "v");
    assert_string_equal(clone->get("k", ample()).c_str(), "v");
    assert_true(clone->has_extended_api());
    stores.first.reset();
    assert_string_equal(clone->clone(ample())->get("k", ample()).c_str(), "v");
    clone->set("l", "w", ample());
    assert_string_equal(clone->get("l", ample()).c_str(), "w");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(the_keys_are_listed),
        TUTTI_TEST(a_queue_gives_each_value_once_in_order),
        TUTTI_TEST(an_empty_queue_is_said_to_be_empty_or_waited_for),
        TUTTI_TEST(queues_are_found_by_check_and_wait_and_deleted),
        TUTTI_TEST(many_poppers_share_what_many_pushers_push),
        TUTTI_TEST(a_barrier_holds_all_until_the_last_and_lets_late_ones_pass),
        TUTTI_TEST(a_barrier_that_times_out_names_its_key_and_leaves_the_handle_usable),
        TUTTI_TEST(a_blocked_pop_or_barrier_does_not_delay_other_calls_of_its_handle),
        TUTTI_TEST(a_clone_is_another_handle_of_the_same_store),
    };
    return run_for_every_kind(tests);
}
