// What is said again when the coordinator changes?
#include "membership/unsettled.hpp"

#include "base/text.hpp"
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
    unsettled.heard(Failed{3, "a", {}, {}});
    assert_true((unsettled.frames() == std::vector{refusal}));
    unsettled.heard(Failed{3, "b", {}, {}});
    assert_true(unsettled.frames().empty());
}

void how_the_last_steps_came_out_is_said_again(void**) {
    Unsettled unsettled;
    for (int step = 0; step < 20; ++step) {
        const std::string key = cat("step ", step);
        unsettled.said(encode(Come{0, key, {0, 1}, 0, "words", {}}));
        unsettled.heard(Gathered{0, key, 0, {"words", "others"}});
    }
    const auto frames = unsettled.frames();
    assert_int_equal(frames.size(), 16);
    assert_true(frames.back() == encode(Gathered{0, "step 19", 0, {"words", "others"}}));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(how_the_last_steps_came_out_is_said_again),
        TUTTI_TEST(steps_that_have_not_ended_are_said_again_refused_ones_too),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
