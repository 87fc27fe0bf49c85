// The messages sent again when the coordinator changes.
#include "membership/replay_log.hpp"

#include "base/text.hpp"
#include "membership/protocol.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;
using namespace tutti::membership;

void steps_that_have_not_ended_are_said_again_refused_ones_too(void**) {
    ReplayLog replay_log;
    const std::string arrival = encode(StepArrival{3, "a", {0, 1}, 0, "words", {}});
    const std::string refusal =
        encode(StepArrival{3, "b", {0, 1}, 0, "", {TUTTI_ERR_MISMATCH, 0, 0, "not I"}});
    replay_log.sent(arrival);
    replay_log.sent(refusal);
    assert_true((replay_log.frames() == std::vector{arrival, refusal}));
    replay_log.received(StepFailed{3, "a", {}, {}});
    assert_true((replay_log.frames() == std::vector{refusal}));
    replay_log.received(StepFailed{3, "b", {}, {}});
    assert_true(replay_log.frames().empty());
}

void how_the_last_steps_came_out_is_said_again(void**) {
    ReplayLog replay_log;
    for (int step = 0; step < 20; ++step) {
        const std::string key = cat("step ", step);
        replay_log.sent(encode(StepArrival{0, key, {0, 1}, 0, "words", {}}));
        replay_log.received(StepCompleted{0, key, 0, {"words", "others"}});
    }
    const auto frames = replay_log.frames();
    assert_int_equal(frames.size(), 16);
    assert_true(frames.back() == encode(StepCompleted{0, "step 19", 0, {"words", "others"}}));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(how_the_last_steps_came_out_is_said_again),
        TUTTI_TEST(steps_that_have_not_ended_are_said_again_refused_ones_too),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
