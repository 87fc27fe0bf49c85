// Is memory that a collective gave back taken for the next one, and no more of it kept than may be?
#include "algorithm/rooms.hpp"

#include <cstring>
#include <thread>
#include <vector>

#include "support/unit.hpp"

namespace {

using namespace tutti;

constexpr size_t shortest = Rooms::shortest;

void what_was_given_back_is_taken_again(void**) {
    Rooms rooms(10 * shortest);
    Rooms::Room room = rooms.take(3 * shortest);
    std::byte* const place = room.get();
    assert_int_equal(rooms.kept_bytes(), 0);
    room.reset();
    assert_int_equal(rooms.kept_bytes(), 3 * shortest);
    room = rooms.take(2 * shortest);
    assert_ptr_equal(room.get(), place);
    assert_int_equal(rooms.kept_bytes(), 0);
    room.reset();
    assert_int_equal(rooms.kept_bytes(), 3 * shortest);  // all of it
    assert_ptr_equal(rooms.take(3 * shortest).get(), place);
}

void the_shortest_that_is_long_enough_is_taken(void**) {
    Rooms rooms(20 * shortest);
    std::vector<Rooms::Room> given;
    for (const size_t length : {5, 3, 4}) given.push_back(rooms.take(length * shortest));
    std::byte* const best = given[1].get();
    given.clear();
    Rooms::Room room = rooms.take(2 * shortest + 1);
    assert_ptr_equal(room.get(), best);
    const Rooms::Room too_short = rooms.take(shortest);  // none is twice as long at most
    assert_int_equal(rooms.kept_bytes(), 9 * shortest);
}

void the_oldest_go_when_there_are_too_many(void**) {
    Rooms rooms(4 * shortest);
    Rooms::Room first = rooms.take(2 * shortest);
    Rooms::Room second = rooms.take(2 * shortest);
    Rooms::Room third = rooms.take(2 * shortest);
    const std::byte* const last = third.get();
    first.reset();
    second.reset();
    third.reset();
    assert_int_equal(rooms.kept_bytes(), 4 * shortest);
    Rooms::Room long_one = rooms.take(4 * shortest);
    long_one.reset();
    assert_int_equal(rooms.kept_bytes(), 4 * shortest);
    assert_ptr_not_equal(rooms.take(2 * shortest).get(), last);
}

void short_and_very_long_ones_are_not_kept(void**) {
    Rooms rooms(4 * shortest);
    for (const size_t bytes : {size_t{0}, size_t{1}, shortest - 1, 4 * shortest + 1}) {
        Rooms::Room room = rooms.take(bytes);
        assert_non_null(room.get());
        if (bytes > 0) std::memset(room.get(), 1, bytes);
        room.reset();
        assert_int_equal(rooms.kept_bytes(), 0);
    }
    Rooms none(0);
    none.take(shortest).reset();
    assert_int_equal(none.kept_bytes(), 0);
}

void many_threads_take_and_give_back(void**) {
    Rooms rooms(8 * shortest);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&rooms, thread] {
            for (size_t i = 0; i < 500; ++i) {
                const size_t bytes = shortest * (1 + i % 5);
                const Rooms::Room room = rooms.take(bytes);
                std::memset(room.get(), thread, bytes);
                for (const size_t at : {size_t{0}, bytes / 2, bytes - 1}) {
                    if (room[at] != static_cast<std::byte>(thread)) std::abort();
                }
            }
        });
    }
    for (std::thread& one : threads) one.join();
    assert_true(rooms.kept_bytes() <= 8 * shortest);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(what_was_given_back_is_taken_again),
        TUTTI_TEST(the_shortest_that_is_long_enough_is_taken),
        TUTTI_TEST(the_oldest_go_when_there_are_too_many),
        TUTTI_TEST(short_and_very_long_ones_are_not_kept),
        TUTTI_TEST(many_threads_take_and_give_back),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
