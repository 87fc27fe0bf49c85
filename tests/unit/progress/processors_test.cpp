// Ranks spin while each has a processor; a thread beside them looks early while one is spare.
#include "progress/processors.hpp"

#include <vector>

#include "support/unit.hpp"

namespace {

using tutti::has_spare_processor;
using tutti::Processors;

Processors some(int first, int count, uint32_t at_a_time = 0) {
    Processors processors;
    for (int one = first; one < first + count; ++one) CPU_SET(one, &processors.allowed);
    processors.at_a_time = at_a_time;
    return processors;
}

void ranks_spin_only_where_each_has_a_processor(void**) {
    using tutti::spins_for;
    const std::vector<Processors> bound{some(0, 1), some(1, 1)};
    const std::vector<Processors> crowded{some(0, 1), some(0, 1)};
    const std::vector<Processors> limited{some(0, 8, 1), some(0, 8, 1)};
    assert_true(spins_for(bound) > 0);
    assert_int_equal(spins_for(crowded), 0);
    assert_int_equal(spins_for(limited), 0);
}

void a_processor_is_spare_if_there_are_more_than_ranks(void**) {
    assert_true(has_spare_processor(some(0, 3), 2));
    assert_false(has_spare_processor(some(0, 2), 2));
    assert_false(has_spare_processor(some(1, 1), 2));  // bound
    assert_true(has_spare_processor(some(0, 8, 3), 2));
    assert_false(has_spare_processor(some(0, 8, 2), 2));  // of the control group
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(ranks_spin_only_where_each_has_a_processor),
        TUTTI_TEST(a_processor_is_spare_if_there_are_more_than_ranks),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
