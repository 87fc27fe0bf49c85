// Does a rank find what another says of memory that they share, and nothing where there is none?
#include "memory/shared.hpp"

#include <memory>
#include <vector>

#include "support/unit.hpp"

namespace {

using namespace tutti;
using shm::Place;
using shm::Segment;
using shm::Shared;

using Part = std::shared_ptr<Segment>;

Part make(size_t bytes) {
    return std::make_shared<Segment>(Segment::make(bytes));
}

ConstBytes bytes_of(const Part& part) {
    return {static_cast<const std::byte*>(part->data()), part->size()};
}

// Two ranks and what each of them has.
struct Pair {
    Shared zero{0};
    Shared one{1};

    void add(const Part& of_zero, const Part& of_one) {
        zero.add({of_zero, of_one});
        one.add({of_zero, of_one});
    }
};

void a_place_is_found_by_the_other(void**) {
    Pair ranks;
    assert_false(ranks.zero.has_any());
    const Part first = make(100), second = make(5000), other = make(300);
    ranks.add(first, other);
    ranks.add(second, other);
    assert_true(ranks.zero.has_any());
    const Place place = ranks.zero.place_of(bytes_of(second).subspan(1000, 50));
    assert_true(place != 0);
    const auto found = ranks.one.find(0, place);
    assert_ptr_equal(found.data(), bytes_of(second).data() + 1000);
    assert_int_equal(found.size(), 4000);
    assert_int_equal(ranks.one.find(0, ranks.zero.place_of(bytes_of(first))).size(), 100);
}

void other_memory_has_no_place(void**) {
    Pair ranks;
    const Part mine = make(4096), other = make(4096);
    ranks.add(mine, other);
    const std::byte own[8]{};
    assert_true(ranks.zero.place_of(own) == 0);
    assert_true(ranks.zero.place_of(bytes_of(other)) == 0);
    const std::byte* const end = bytes_of(mine).data() + mine->size();
    assert_true(ranks.zero.place_of({end - 8, 9}) == 0);
    assert_true(ranks.zero.place_of({bytes_of(mine).data() - 1, 8}) == 0);
    assert_true(ranks.zero.place_of({end - 8, 8}) != 0);
}

void false_places_are_nowhere(void**) {
    Pair ranks;
    ranks.add(make(100), make(100));
    const Place place = ranks.zero.place_of(bytes_of(make(1)));
    assert_true(place == 0);
    assert_true(ranks.one.find(0, 0).empty());
    assert_true(ranks.one.find(0, UINT64_MAX).empty());
    assert_true(ranks.one.find(0, (Place{1} << 42) + 101).empty());
    assert_true(ranks.one.find(0, Place{2} << 42).empty());
    assert_int_equal(ranks.one.find(0, Place{1} << 42).size(), 100);
}

void what_was_given_up_is_forgotten_at_the_next(void**) {
    Pair ranks;
    const Part mine = make(4096), other = make(4096);
    ranks.add(mine, other);
    const Place place = ranks.zero.place_of(bytes_of(mine));
    mine->give_up();
    assert_true(ranks.zero.place_of(bytes_of(mine)) == 0);
    assert_true(ranks.one.place_of(bytes_of(other)) != 0);
    assert_int_equal(mine.use_count(), 3);
    ranks.add(make(1), make(1));
    assert_int_equal(mine.use_count(), 1);
    assert_true(ranks.one.find(0, place).empty());
    other->give_up();
    ranks.add(make(1), make(1));
    assert_int_equal(other.use_count(), 1);
    const Part last = make(10);
    ranks.add(last, make(10));
    assert_int_equal(ranks.one.find(0, ranks.zero.place_of(bytes_of(last))).size(), 10);
}

void what_was_given_up_is_zero(void**) {
    Segment mine = Segment::make_now(20'000);
    const Segment theirs = Segment::open(mine.address(), 20'000, Segment::Access::ReadOnly);
    assert_false(theirs.is_given_up());
    static_cast<char*>(mine.data())[7] = 7;
    assert_int_equal(static_cast<char*>(theirs.data())[7], 7);
    mine.give_up();
    assert_true(theirs.is_given_up());
    assert_int_equal(static_cast<char*>(theirs.data())[7], 0);
}

// Every other one is given back before the next comes, so that new ones lie between old ones.
void each_of_many_is_told_from_the_others(void**) {
    Pair ranks;
    std::vector<Part> parts;
    for (size_t index = 0; index < 200; ++index) {
        parts.push_back(make(index % 3 * 5000));
        ranks.add(parts.back(), make(1));
        if (index % 2 == 1) parts[index]->give_up();
    }
    for (size_t index = 0; index < parts.size(); ++index) {
        const auto all = bytes_of(parts[index]);
        const Place place = ranks.zero.place_of(all);
        assert_true((place == 0) == (index % 2 == 1));
        if (place != 0) assert_ptr_equal(ranks.one.find(0, place).data(), all.data());
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_place_is_found_by_the_other),
        TUTTI_TEST(other_memory_has_no_place),
        TUTTI_TEST(false_places_are_nowhere),
        TUTTI_TEST(what_was_given_up_is_forgotten_at_the_next),
        TUTTI_TEST(what_was_given_up_is_zero),
        TUTTI_TEST(each_of_many_is_told_from_the_others),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
