// Does every rank stand where row-major order puts it, and do parts cover the mesh once?
#include "mesh/layout.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "base/error.hpp"
#include "support/seed.h"
#include "support/unit.hpp"

namespace tutti {
namespace {

Layout make(const std::vector<int>& shape) {
    std::vector<int> ranks(
        static_cast<size_t>(std::accumulate(shape.begin(), shape.end(), 1, std::multiplies<>())));
    std::iota(ranks.begin(), ranks.end(), 100);
    return {shape, ranks};
}

void ranks_stand_in_row_major_order(void** /*state*/) {
    const Layout layout = make({2, 3, 4});
    assert_true(layout.coordinate(100) == (std::vector<int>{0, 0, 0}));
    assert_true(layout.coordinate(101) == (std::vector<int>{0, 0, 1}));
    assert_true(layout.coordinate(104) == (std::vector<int>{0, 1, 0}));
    assert_true(layout.coordinate(123) == (std::vector<int>{1, 2, 3}));
    assert_true(layout.coordinate(124).empty());
    assert_true(layout.along({1}, {1, 0, 2}) == (std::vector<int>{114, 118, 122}));
    assert_true(layout.along({0, 2}, {0, 1, 0}) ==
                (std::vector<int>{104, 105, 106, 107, 116, 117, 118, 119}));
    assert_true(layout.slice({0, 2}, {0, 1, 0}).shape() == (std::vector<int>{2, 4}));
}

// Whatever the shape and the dimensions: the parts are disjoint, cover all, and each is what all
// its members see.
void parts_cover_the_mesh_once(void** /*state*/) {
    const uint32_t seed = test_seed();
    print_message("seed %u\n", seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 200; ++round) {
        std::vector<int> shape(1 + random() % 4);
        for (int& length : shape) length = 1 + static_cast<int>(random() % 4);
        std::vector<size_t> dims;
        for (size_t dim = 0; dim < shape.size(); ++dim) {
            if (random() % 2 == 0) dims.push_back(dim);
        }
        const Layout layout = make(shape);
        std::vector<int> seen;
        for (const auto& part : layout.parts(dims)) {
            for (const int rank : part) {
                seen.push_back(rank);
                assert_true(layout.along(dims, layout.coordinate(rank)) == part);
            }
        }
        std::ranges::sort(seen);
        assert_true(seen == layout.ranks());
    }
}

tutti_status refused(void (*check)()) {
    try {
        check();
    } catch (const Error& error) {
        return error.status().code;
    }
    return TUTTI_OK;
}

void shapes_that_do_not_fit_are_refused(void** /*state*/) {
    const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;
    assert_int_equal(refused([] { check_shape({2, 2}, 4); }), TUTTI_OK);
    assert_int_equal(refused([] { check_shape({2, 2}, 3); }), bad);
    assert_int_equal(refused([] { check_shape({}, 3); }), bad);
    // Lengths whose product would not fit into an int.
    assert_int_equal(refused([] { check_shape(std::vector<int>(64, 1 << 30), 8); }), bad);
    assert_int_equal(refused([] { check_names({"a", "b"}, 2); }), TUTTI_OK);
    assert_int_equal(refused([] { check_names({"a", "a"}, 2); }), bad);
    assert_int_equal(refused([] { check_names({"a"}, 2); }), bad);
}

}  // namespace
}  // namespace tutti

int main() {
    using namespace tutti;
    const CMUnitTest tests[] = {
        TUTTI_TEST(ranks_stand_in_row_major_order),
        TUTTI_TEST(parts_cover_the_mesh_once),
        TUTTI_TEST(shapes_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
