// A pass as plain data: marks, and the buckets that they complete.
#include <vector>

#include "reducer/pass.hpp"
#include "support/unit.hpp"  // last: cmocka makes a macro of the name fail

using namespace tutti;

namespace {

// Three parameters: the first two share a bucket.
const Parameters parameters(3, Parameter{4, TUTTI_FLOAT32, {}, ""});
const BucketLayout layout(parameters, {{0, 1}, {2}});

Pass make_pass(const ReducerOptions& options) {
    return {parameters.size(), options};
}

// Marks the parameter; true if that completes a bucket.
bool mark(Pass& pass, size_t parameter) {
    const uint32_t number = pass.mark(parameter, {});
    assert_true(number != 0);
    return pass.has_come(parameter, number) && pass.count_down(layout.place_of(parameter).bucket);
}

void the_last_mark_completes_a_bucket(void**) {
    Pass pass = make_pass({});
    pass.prepare(true, true, layout);
    assert_true(!mark(pass, 1));
    assert_true(!pass.is_complete(0));
    assert_true(mark(pass, 0));
    assert_true(pass.is_complete(0));
    assert_true(mark(pass, 2));
    assert_true(pass.arrival_order() == std::vector<int64_t>({1, 0, 2}));
}

void a_second_mark_is_refused_and_not_counted(void**) {
    Pass pass = make_pass({});
    pass.prepare(true, true, layout);
    static_cast<void>(mark(pass, 0));
    assert_true(pass.mark(0, {}) == 0);
    assert_true(pass.marks(0) == 1);
    pass.prepare(true, false, layout);
    assert_true(pass.mark(0, {}) == 1);
}

void the_end_of_a_pass_names_parameters_without_a_mark(void**) {
    Pass pass = make_pass({});
    pass.prepare(true, true, layout);
    static_cast<void>(mark(pass, 1));
    assert_true(!pass.begin_to_learn());
    assert_true(pass.settle(0, false) == Pass::Found::Missing);
    assert_true(pass.settle(1, false) == Pass::Found::Enough);
}

void a_parameter_that_may_be_unused_counts_as_marked_at_the_end(void**) {
    ReducerOptions options;
    options.find_unused_parameters = true;
    Pass pass = make_pass(options);
    pass.prepare(true, true, layout);
    assert_true(pass.mark_once(0));
    assert_true(!pass.mark_once(0));
    assert_true(pass.settle(0, false) == Pass::Found::Enough);
    assert_true(pass.settle(1, false) == Pass::Found::Unused);
    assert_true(pass.settle(1, false) == Pass::Found::Enough);
    assert_true(!pass.has_gradient(1));
}

void a_static_graph_learns_the_marks_of_its_first_pass(void**) {
    ReducerOptions options;
    options.static_graph = true;
    Pass pass = make_pass(options);
    pass.prepare(true, true, layout);
    assert_true(!pass.is_counting());
    assert_true(pass.mark(0, {}) == 1);
    assert_true(pass.mark(0, {}) == 2);
    assert_true(pass.begin_to_learn());
    assert_true(pass.settle(0, true) == Pass::Found::Learned);
    assert_true(pass.settle(1, true) == Pass::Found::Unused);
    pass.prepare(true, false, layout);
    assert_true(pass.is_counting() && !pass.begin_to_learn());
    assert_true(!pass.has_come(0, pass.mark(0, {})));
    assert_true(pass.has_come(0, pass.mark(0, {})));
    assert_true(pass.mark(0, {}) == 0);
    assert_true(pass.mark(1, {}) == 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(the_last_mark_completes_a_bucket),
        TUTTI_TEST(a_second_mark_is_refused_and_not_counted),
        TUTTI_TEST(the_end_of_a_pass_names_parameters_without_a_mark),
        TUTTI_TEST(a_parameter_that_may_be_unused_counts_as_marked_at_the_end),
        TUTTI_TEST(a_static_graph_learns_the_marks_of_its_first_pass),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
