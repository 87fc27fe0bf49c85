// Do ranks that together want more memory than there is learn it, and in which place?
#include "memory/demand.hpp"

#include <string>

#include "support/unit.hpp"

namespace {

using namespace tutti;
using shm::Demand;
using shm::find_excess;

constexpr uint64_t here = 1, there = 2;
constexpr uint64_t plenty = uint64_t{1} << 40;

void expect_none(const std::vector<Demand>& demands) {
    assert_false(find_excess(demands).has_value());
}

void expect_excess(const std::vector<Demand>& demands, int rank, const std::string& text) {
    const auto excess = find_excess(demands);
    assert_true(excess.has_value());
    assert_int_equal(excess->rank, rank);
    assert_int_equal(excess->why.code, TUTTI_ERR_OUT_OF_MEMORY);
    assert_string_equal(excess->why.message.c_str(), text.c_str());
}

void what_fits_is_no_excess(void**) {
    expect_none({});
    expect_none({{0, here, 0, 0, 7}});
    expect_none({{5, here, 10, 5, 7}, {5, here, 10, 5, 8}, {10, there, 10, 10, 7}});
}

void the_largest_demand_of_a_host_is_named(void**) {
    expect_excess({{plenty, there, plenty, 0, 0}, {5, here, 12, 0, 0}, {6, here, 10, 0, 0}}, 2,
                  "the ranks of one host want 11 bytes, of them rank 2 6, and 10 are available");
}

// The same number is another group on another host.
void a_control_group_is_one_of_its_host(void**) {
    expect_none({{6, here, plenty, 10, 7}, {6, there, plenty, 10, 7}});
    expect_excess({{4, here, plenty, 10, 7}, {20, here, plenty, 0, 0}, {7, here, plenty, 9, 7}}, 2,
                  "the ranks of one control group want 11 bytes, of them rank 2 7, and 9 are "
                  "available");
}

void ranks_of_an_unknown_host_are_not_counted_together(void**) {
    expect_none({{6, 0, 10, 10, 7}, {6, 0, 10, 10, 7}});
}

void more_than_a_number_holds_is_too_much(void**) {
    expect_excess({{UINT64_MAX, here, plenty, 0, 0}, {1, here, plenty, 0, 0}}, 0,
                  cat("the ranks of one host want ", UINT64_MAX, " bytes, of them rank 0 ",
                      UINT64_MAX, ", and ", plenty, " are available"));
}

void a_process_knows_where_it_is(void**) {
    const Demand own = shm::demand_of(3);
    assert_int_equal(own.bytes, 3);
    assert_true(own.host != 0);
    assert_true(own.available > 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(what_fits_is_no_excess),
        TUTTI_TEST(the_largest_demand_of_a_host_is_named),
        TUTTI_TEST(a_control_group_is_one_of_its_host),
        TUTTI_TEST(ranks_of_an_unknown_host_are_not_counted_together),
        TUTTI_TEST(more_than_a_number_holds_is_too_much),
        TUTTI_TEST(a_process_knows_where_it_is),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
