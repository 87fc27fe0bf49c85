// The handle table: what is looked up stays, what is released goes, once, whatever other threads
// do. Threads of its own; the table and the reaper are the process's.
#include <algorithm>
#include <array>
#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "capi/handle.hpp"
#include "capi/reaper.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;
using capi::Pin;

std::shared_ptr<const std::string> text(const char* value) {
    return std::make_shared<const std::string>(value);
}

bool valid(const tutti_bytes* handle) {
    return static_cast<bool>(Pin(handle));
}

const std::string alive = "alive";

// Something of another kind that tells when and where it ended.
struct Witness {
    std::atomic<int> ended{0};
    std::thread::id where;
};
std::shared_ptr<Store> witnessed_store(Witness& witness) {
    static std::shared_ptr<Store> none;
    return {static_cast<Store*>(nullptr), [&witness](Store*) {
                witness.where = std::this_thread::get_id();
                ++witness.ended;
            }};
}

void a_handle_leads_to_its_object(void**) {
    tutti_bytes* handle = capi::hand_out<tutti_bytes>(text("value"));
    {
        const Pin pin(handle, "bytes");
        assert_string_equal(pin->c_str(), "value");
    }
    capi::release(handle);
}

void null_and_garbage_are_refused(void**) {
    TUTTI_EXPECT_ERROR(Pin<tutti_bytes>(nullptr, "bytes"), TUTTI_ERR_INVALID_HANDLE,
                       "bytes is NULL");
    for (uintptr_t value = 1; value != 0; value <<= 1) {
        assert_false(valid(reinterpret_cast<tutti_bytes*>(value)));
        assert_false(valid(reinterpret_cast<tutti_bytes*>(~value)));
        capi::release(reinterpret_cast<tutti_bytes*>(value));
    }
}

void a_released_handle_is_refused_and_released_once(void**) {
    tutti_bytes* stale = capi::hand_out<tutti_bytes>(text("old"));
    capi::release(stale);
    tutti_bytes* fresh = capi::hand_out<tutti_bytes>(text("new"));
    assert_ptr_not_equal(stale, fresh);
    capi::release(stale);
    TUTTI_EXPECT_ERROR(Pin(stale, "bytes"), TUTTI_ERR_INVALID_HANDLE, "released");
    assert_string_equal(Pin(fresh)->c_str(), "new");
    capi::release(fresh);
}

void a_handle_of_another_kind_is_refused_by_name(void**) {
    tutti_bytes* handle = capi::hand_out<tutti_bytes>(text("value"));
    auto* wrong = reinterpret_cast<tutti_store*>(handle);
    TUTTI_EXPECT_ERROR(Pin(wrong, "store"), TUTTI_ERR_INVALID_HANDLE,
                       "store is a handle of kind bytes, not store");
    capi::release(wrong);
    assert_true(valid(handle));
    capi::release(handle);
}

void a_pin_outlives_the_release(void**) {
    const auto object = text("value");
    tutti_bytes* handle = capi::hand_out<tutti_bytes>(object);
    {
        const Pin pin(handle, "bytes");
        capi::release(handle);
        assert_false(valid(handle));
        assert_int_equal(object.use_count(), 2);
        assert_string_equal(pin->c_str(), "value");
    }
    assert_int_equal(object.use_count(), 1);
}

void what_is_shared_outlives_the_handle(void**) {
    tutti_bytes* handle = capi::hand_out<tutti_bytes>(text("value"));
    const auto shared = Pin(handle).share();
    capi::release(handle);
    assert_int_equal(shared.use_count(), 1);
    assert_string_equal(shared->c_str(), "value");
}

void a_reservation_that_is_not_used_is_given_back(void**) {
    tutti_bytes* first = capi::hand_out<tutti_bytes>(text("first"));
    capi::release(first);
    { const capi::Reserved<tutti_bytes> unused; }
    tutti_bytes* second = capi::hand_out<tutti_bytes>(text("second"));
    // The same slot, one generation on.
    assert_int_equal(reinterpret_cast<uintptr_t>(second), reinterpret_cast<uintptr_t>(first) + 1);
    capi::release(second);
}

void a_slot_whose_generations_are_used_up_is_never_used_again(void**) {
    capi::Slot* slot = capi::reserve_slot();
    slot->word = uint64_t{0xffff'ffff} << 32;
    const uintptr_t last = capi::publish_slot(*slot, capi::Kind::Bytes, false, text("last"));
    assert_ptr_equal(capi::pin_slot(last, capi::Kind::Bytes), slot);
    capi::unpin_slot(*slot);
    capi::release_handle(last, capi::Kind::Bytes);
    std::vector<capi::Slot*> taken(1000);
    std::ranges::generate(taken, capi::reserve_slot);
    assert_int_equal(std::ranges::count(taken, slot), 0);
    for (capi::Slot* other : taken) capi::give_slot_back(*other);
}

void the_table_grows_and_every_handle_keeps_its_object(void**) {
    std::vector<tutti_bytes*> handles;
    for (int i = 0; i < 10'000; ++i) {
        handles.push_back(capi::hand_out<tutti_bytes>(text(std::to_string(i).c_str())));
    }
    for (size_t i = 0; i < handles.size(); ++i) {
        assert_string_equal(Pin(handles[i], "bytes")->c_str(), std::to_string(i).c_str());
    }
    std::ranges::for_each(handles, [](tutti_bytes* handle) { capi::release(handle); });
    for (tutti_bytes* handle : handles) assert_false(valid(handle));
}

void what_takes_time_ends_on_another_thread(void**) {
    Witness witness;
    tutti_store* handle = capi::hand_out<tutti_store>(witnessed_store(witness));
    capi::release(handle);
    capi::drain_reaper();
    assert_int_equal(witness.ended, 1);
    assert_true(witness.where != std::this_thread::get_id());
}

// Each is held up until all are about to end.
void what_is_held_up_holds_up_nothing_else(void**) {
    constexpr int count = 20;
    std::latch all(count);
    std::atomic<int> ended{0};
    for (int i = 0; i < count; ++i) {
        capi::release(capi::hand_out<tutti_store>({static_cast<Store*>(nullptr), [&](Store*) {
                                                       all.arrive_and_wait();
                                                       ++ended;
                                                   }}));
    }
    while (ended < count) capi::drain_reaper();
}

// More than there are threads: each holds up its thread until the test says so.
void those_that_are_too_many_end_later(void**) {
    constexpr int count = 200;
    std::latch opened(1);
    std::atomic<int> ended{0};
    for (int i = 0; i < count; ++i) {
        capi::release(capi::hand_out<tutti_store>({static_cast<Store*>(nullptr), [&](Store*) {
                                                       opened.wait();
                                                       ++ended;
                                                   }}));
    }
    assert_int_equal(ended, 0);
    opened.count_down();
    capi::end_reaper();
    assert_int_equal(ended, count);
    Witness witness;  // another thread is started
    capi::release(capi::hand_out<tutti_store>(witnessed_store(witness)));
    capi::end_reaper();
    assert_int_equal(witness.ended, 1);
}

// Four threads look up what a fifth hands out and releases: each object ends exactly once, and
// never while one of them looks at it.
void lookups_and_releases_race(void**) {
    constexpr int64_t rounds = 20'000;
    static std::array<std::atomic<tutti_bytes*>, 4> current{};
    std::atomic<bool> stop{false};
    std::atomic<int64_t> ended{0}, seen{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (size_t place = 0; !stop; place = (place + 1) % current.size()) {
                tutti_bytes* handle = current[place];
                const Pin pin(handle);
                if (pin && *pin == "alive") ++seen;
                if (place == 0) capi::release(handle);
            }
        });
    }
    int64_t made = 0;
    for (; made < rounds || seen == 0; ++made) {
        std::shared_ptr<const std::string> object(new std::string("alive"), [&](const auto* dying) {
            ++ended;
            delete dying;
        });
        auto& place = current[static_cast<size_t>(made) % current.size()];
        capi::release(place.exchange(capi::hand_out<tutti_bytes>(std::move(object))));
    }
    stop = true;
    threads.clear();
    for (auto& place : current) capi::release(place.load());
    assert_int_equal(ended, made);
}

// Lookups pin even a handle that is just going, so several threads may drop its last pin at once.
void passing_lookups_never_end_an_object_twice(void**) {
    constexpr int rounds = 100'000;
    std::atomic<tutti_bytes*> current{nullptr};
    std::atomic<bool> stop{false};
    std::atomic<int> ended{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            while (!stop) static_cast<void>(valid(current));
        });
    }
    for (int round = 0; round < rounds; ++round) {
        current = capi::hand_out<tutti_bytes>({&alive, [&](const std::string*) { ++ended; }});
        capi::release(current.load());
    }
    stop = true;
    threads.clear();
    assert_int_equal(ended, rounds);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_handle_leads_to_its_object),
        TUTTI_TEST(null_and_garbage_are_refused),
        TUTTI_TEST(a_released_handle_is_refused_and_released_once),
        TUTTI_TEST(a_handle_of_another_kind_is_refused_by_name),
        TUTTI_TEST(a_pin_outlives_the_release),
        TUTTI_TEST(what_is_shared_outlives_the_handle),
        TUTTI_TEST(a_reservation_that_is_not_used_is_given_back),
        TUTTI_TEST(a_slot_whose_generations_are_used_up_is_never_used_again),
        TUTTI_TEST(the_table_grows_and_every_handle_keeps_its_object),
        TUTTI_TEST(what_takes_time_ends_on_another_thread),
        TUTTI_TEST(what_is_held_up_holds_up_nothing_else),
        TUTTI_TEST(those_that_are_too_many_end_later),
        TUTTI_TEST(lookups_and_releases_race),
        TUTTI_TEST(passing_lookups_never_end_an_object_twice),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
