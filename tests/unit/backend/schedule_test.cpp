// Is every byte of an uneven all_to_all shown once, in a room of its own, and do short pieces not
// make long ones slow? Computed for every rank, by one thread.
#include "backends/shm/schedule.hpp"

#include <algorithm>
#include <functional>
#include <random>

#include "support/unit.hpp"

namespace {

using tutti::shm::chunk_bytes;
using tutti::shm::Schedule;
using tutti::shm::SizeMatrix;
using tutti::shm::Window;

SizeMatrix matrix(size_t ranks, const std::function<uint64_t(size_t from, size_t to)>& size) {
    SizeMatrix sizes(ranks);
    for (size_t from = 0; from < ranks; ++from) {
        for (size_t to = 0; to < ranks; ++to) {
            sizes.row(from)[to] = size(from, to);
            sizes.row(to)[ranks + from] = size(from, to);
        }
    }
    return sizes;
}

// The part of a piece that is shown in a window.
size_t shown(const Window& window, uint64_t piece) {
    const uint64_t begin = std::min<uint64_t>(window.begin, piece);
    return static_cast<size_t>(std::min<uint64_t>(window.length, piece - begin));
}

void expect_all_is_shown_once(const SizeMatrix& sizes) {
    const Schedule schedule(sizes);
    const size_t ranks = sizes.ranks();
    uint64_t longest = 0;
    for (size_t from = 0; from < ranks; ++from) {
        for (size_t to = 0; to < ranks; ++to) {
            if (to != from) longest = std::max(longest, sizes.sent(from, to));
        }
    }
    std::vector<std::vector<size_t>> places(ranks);
    for (size_t from = 0; from < ranks; ++from) {
        for (size_t to = 0; to < ranks; ++to) places[from].push_back(schedule.place(from, to));
    }
    uint64_t end = 0;
    size_t steps = 0;
    for (Window window = schedule.first(); window.length > 0; window = schedule.next(window)) {
        assert_true(window.begin == end);
        end += window.length;
        ++steps;
        assert_true(window.room() <= chunk_bytes);
        for (size_t from = 0; from < ranks; ++from) {
            std::vector<bool> taken(window.pieces);
            for (size_t to = 0; to < ranks; ++to) {
                if (to == from || shown(window, sizes.sent(from, to)) == 0) continue;
                const size_t place = places[from][to];
                assert_true(place < window.pieces);
                assert_false(taken[place]);
                taken[place] = true;
            }
        }
    }
    assert_true(end == longest);
    assert_int_equal(steps, schedule.steps());
}

void every_byte_is_shown_once(void**) {
    std::mt19937_64 random(1);
    const uint64_t lengths[] = {0, 1, 39, 40, 64, 1000, 16 * 1024, chunk_bytes, 700'001};
    for (size_t ranks = 2; ranks <= 9; ++ranks) {
        for (int round = 0; round < 50; ++round) {
            expect_all_is_shown_once(matrix(
                ranks, [&](size_t, size_t) { return lengths[random() % std::size(lengths)]; }));
        }
    }
}

void nothing_takes_no_step(void**) {
    assert_int_equal(
        Schedule(matrix(4, [](size_t from, size_t to) { return from == to ? 1000 : 0; })).steps(),
        0);
}

void short_pieces_go_in_one_step(void**) {
    const auto steps = [](size_t ranks, uint64_t bytes) {
        return Schedule(matrix(ranks, [=](size_t, size_t) { return bytes; })).steps();
    };
    assert_int_equal(steps(2, chunk_bytes), 1);
    assert_int_equal(steps(2, chunk_bytes + 1), 2);
    assert_int_equal(steps(5, chunk_bytes / 4), 1);
    assert_int_equal(steps(512, 256), 1);
}

// As if it were alone.
void one_long_piece_has_all_the_room(void**) {
    for (const size_t ranks : {2, 64}) {
        const SizeMatrix sizes = matrix(ranks, [](size_t from, size_t to) {
            return from == 1 && to == 0 ? uint64_t{100} * chunk_bytes : 8;
        });
        expect_all_is_shown_once(sizes);
        assert_true(Schedule(sizes).steps() <= 101);
    }
}

void hundreds_of_ranks_and_long_pieces_are_no_limit(void**) {
    const SizeMatrix many = matrix(512, [](size_t from, size_t to) { return (from * to) % 3000; });
    const Schedule schedule(many);
    for (Window window = schedule.first(); window.length > 0; window = schedule.next(window)) {
        assert_true(window.room() <= chunk_bytes);
        assert_true(window.pieces <= 511);
    }
    const uint64_t huge = uint64_t{9} << 31;
    const Schedule long_ones(
        matrix(3, [=](size_t from, size_t to) { return huge + from * 3 + to; }));
    Window last{};
    size_t steps = 0;
    for (Window window = long_ones.first(); window.length > 0; window = long_ones.next(window)) {
        last = window;
        ++steps;
    }
    assert_true(last.begin + last.length == huge + 2 * 3 + 1);
    assert_int_equal(steps, long_ones.steps());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(every_byte_is_shown_once),
        TUTTI_TEST(nothing_takes_no_step),
        TUTTI_TEST(short_pieces_go_in_one_step),
        TUTTI_TEST(one_long_piece_has_all_the_room),
        TUTTI_TEST(hundreds_of_ranks_and_long_pieces_are_no_limit),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
