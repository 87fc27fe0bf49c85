// What is said again when the coordinator changes?
#include "membership/unsettled.hpp"

#include "membership/protocol.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;
using namespace tutti::membership;

void steps_that_have_not_ended_are_said_again_refused_ones_too(void**) {
    Unsettled unsettled;
    const std::string come = encode(Come{3, "a", {0, 1}, 0, "words", {}});
    const std::string refusal =
        encode(Come{3, "b", {0, 1}, 0, "", {TUTTI_ERR_MISMATCH, 0, 0, "not I"}});
    unsettled.said(come);
    unsettled.said(refusal);
    assert_true((unsettled.frames() == std::vector{come, refusal}));
    unsettled.heard(3, "a");
    assert_true((unsettled.frames() == std::vector{refusal}));
    unsettled.heard(3, "b");
    assert_true(unsettled.frames().empty());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(steps_that_have_not_ended_are_said_again_refused_ones_too),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
