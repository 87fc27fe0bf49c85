// When does a rank call another one, and what follows? Every state and every event, without sockets
// or a clock.
#include "transport/attempts.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "support/unit.hpp"

namespace {

using namespace tutti;
using namespace std::chrono_literals;
using Action = Attempts::Action;
using Known = Attempts::Known;
using Reply = Attempts::Reply;
using Time = Attempts::Time;

constexpr Time start{};
constexpr int lower = 0, own = 1, higher = 2;
constexpr Attempts::Failure of_network{true, false}, refused{true, true}, of_process{false, false};

Attempts make_attempts() {
    return {own, 4, {{"a"}, {"own"}, {"b"}, {"b"}}};
}

enum class State { None, Calling, AwaitingAnswer, AwaitingCall, Connected };
constexpr std::array all_states{State::None, State::Calling, State::AwaitingAnswer,
                                State::AwaitingCall, State::Connected};

Attempts::Attempt first() {
    return Attempts::Attempt::first(start);
}

Attempts in_state(State state, int peer) {
    Attempts attempts = make_attempts();
    if (state == State::None) return attempts;
    assert_true(attempts.need(peer, {start, false}) == Action::Call);
    if (state == State::Calling) return attempts;
    assert_true(attempts.reached(peer));
    if (state == State::AwaitingAnswer) return attempts;
    if (state == State::Connected) assert_true(attempts.proved(peer));
    if (state == State::AwaitingCall) {
        assert_true(attempts.replaced(peer, {start, false}) == Action::Nothing);
    }
    return attempts;
}

State state_of(const Attempts& attempts, int peer) {
    if (!attempts.has_begun(peer)) return State::None;
    if (attempts.is_connected(peer)) return State::Connected;
    if (attempts.awaits_answer(peer)) return State::AwaitingAnswer;
    Attempts copy = attempts;
    return copy.reached(peer) ? State::Calling : State::AwaitingCall;
}

// The value that an event returned, of whichever type, and the state afterwards.
struct Outcome {
    int returned;
    State state;
};
template <typename Returned>
Outcome to(Returned returned, State state) {
    return {static_cast<int>(returned), state};
}

struct Event {
    const char* name;
    std::function<int(Attempts&, int peer, const Known&)> happens;
};
template <typename Happens>
Event event(const char* name, Happens happens) {
    return {name, [happens](Attempts& attempts, int peer, const Known& known) {
                return static_cast<int>(happens(attempts, peer, known));
            }};
}

const Event need = event("need", [](Attempts& attempts, int peer, const Known& known) {
    return attempts.need(peer, known);
});
const Event asked = event("asked", [](Attempts& attempts, int peer, const Known& known) {
    return attempts.asked(peer, true, known);
});
const Event asked_early =
    event("asked_early", [](Attempts& attempts, int peer, const Known& known) {
        return attempts.asked(peer, false, known);
    });
const Event lose =
    event("lose", [](Attempts& attempts, int peer, const Known&) { return attempts.lose(peer); });
const Event failed = event("failed", [](Attempts& attempts, int peer, const Known& known) {
    return attempts.failed(peer, first(), of_network, known);
});
const Event failed_here =
    event("failed_here", [](Attempts& attempts, int peer, const Known& known) {
        return attempts.failed(peer, first(), of_process, known);
    });
const Event missed = event("missed", [](Attempts& attempts, int peer, const Known& known) {
    return attempts.missed(peer, first(), "a", known);
});
const Event reached = event(
    "reached", [](Attempts& attempts, int peer, const Known&) { return attempts.reached(peer); });
const Event proved = event(
    "proved", [](Attempts& attempts, int peer, const Known&) { return attempts.proved(peer); });
const Event replaced = event("replaced", [](Attempts& attempts, int peer, const Known& known) {
    return attempts.replaced(peer, known);
});
const Event called = event("called", [](Attempts& attempts, int peer, const Known& known) {
    return attempts.called(peer, true, known);
});
const Event called_in_need =
    event("called_in_need", [](Attempts& attempts, int peer, const Known& known) {
        return attempts.called(peer, false, known);
    });
const Event call_broke = event("call_broke", [](Attempts& attempts, int peer, const Known& known) {
    return attempts.call_broke(peer, known);
});

void expect(const Event& event, int peer, State from, bool gone, const Outcome& expected) {
    Attempts attempts = in_state(from, peer);
    const int returned = event.happens(attempts, peer, {start, gone});
    if (returned == expected.returned && state_of(attempts, peer) == expected.state) return;
    fail_msg("%s of rank %d in state %d, gone %d: returned %d, state %d", event.name, peer,
             static_cast<int>(from), gone, returned, static_cast<int>(state_of(attempts, peer)));
}

// In the order of the states: while that rank is there, and when it is gone.
using Outcomes = std::array<Outcome, all_states.size()>;
void expect_all(const Event& event, int peer, const Outcomes& there, const Outcomes& gone) {
    for (size_t i = 0; i < all_states.size(); ++i) {
        expect(event, peer, all_states[i], false, there[i]);
        expect(event, peer, all_states[i], true, gone[i]);
    }
}
void expect_all(const Event& event, int peer, const Outcomes& outcomes) {
    expect_all(event, peer, outcomes, outcomes);
}

template <typename Returned>
Outcomes unchanged(Returned returned) {
    Outcomes outcomes{};
    for (size_t i = 0; i < all_states.size(); ++i) outcomes[i] = to(returned, all_states[i]);
    return outcomes;
}
template <typename Returned>
Outcomes unchanged_but(Returned returned, const std::vector<std::pair<State, Outcome>>& others) {
    Outcomes outcomes = unchanged(returned);
    for (const auto& [from, outcome] : others) outcomes[static_cast<size_t>(from)] = outcome;
    return outcomes;
}

const Outcome calls = to(Action::Call, State::Calling);
const Outcome calls_and_asks = to(Action::CallAndAsk, State::Calling);
const Outcome fails = to(Action::Fail, State::None);
const Outcome fails_as_gone = to(Action::FailAsGone, State::None);

void a_rank_is_called_when_it_is_needed_or_asks(void** /*state*/) {
    for (const int peer : {lower, higher}) {
        expect_all(need, peer, unchanged_but(Action::Nothing, {{State::None, calls}}),
                   unchanged_but(Action::Nothing, {{State::None, fails_as_gone}}));
        expect_all(
            asked, peer,
            unchanged_but(Action::Nothing, {{State::None, calls}, {State::AwaitingCall, calls}}),
            unchanged_but(Action::Nothing,
                          {{State::None, fails_as_gone}, {State::AwaitingCall, fails_as_gone}}));
        expect_all(asked_early, peer, unchanged(Action::Nothing));
    }
}

// Its last words come behind an answer.
void a_rank_that_goes_is_waited_for_only_where_it_may_have_answered(void** /*state*/) {
    for (const int peer : {lower, higher}) {
        expect_all(lose, peer,
                   unchanged_but(Action::Nothing, {{State::None, fails_as_gone},
                                                   {State::Calling, fails_as_gone},
                                                   {State::AwaitingCall, fails_as_gone}}));
    }
}

void a_call_that_fails_is_made_again_unless_the_fault_lies_here(void** /*state*/) {
    for (const int peer : {lower, higher}) {
        const Outcomes fail_both = unchanged_but(
            Action::Nothing, {{State::Calling, fails}, {State::AwaitingAnswer, fails}});
        expect_all(failed, peer,
                   unchanged_but(Action::Nothing, {{State::Calling, calls_and_asks},
                                                   {State::AwaitingAnswer, calls_and_asks}}),
                   fail_both);
        expect_all(failed_here, peer, fail_both);
        expect_all(missed, peer, unchanged_but(Action::Nothing, {{State::AwaitingAnswer, calls}}),
                   unchanged_but(Action::Nothing, {{State::AwaitingAnswer, fails_as_gone}}));
    }
}

void who_takes_the_call_must_prove_who_it_is(void** /*state*/) {
    for (const int peer : {lower, higher}) {
        expect_all(reached, peer,
                   unchanged_but(false, {{State::Calling, to(true, State::AwaitingAnswer)}}));
        expect_all(proved, peer,
                   unchanged_but(false, {{State::AwaitingAnswer, to(true, State::Connected)}}));
        expect_all(replaced, peer,
                   unchanged_but(Action::Nothing, {{State::AwaitingAnswer,
                                                    to(Action::Nothing, State::AwaitingCall)}}),
                   unchanged_but(Action::Nothing, {{State::AwaitingAnswer, fails}}));
    }
}

// If both have called, the connection of the lower rank stays.
void a_rank_that_calls_is_accepted_unless_this_call_comes_first(void** /*state*/) {
    const Outcome accepts = to(Reply::Accept, State::Connected);
    const std::vector<std::pair<State, Outcome>> without_answer{
        {State::None, accepts}, {State::Calling, accepts}, {State::AwaitingCall, accepts}};
    auto from_lower = without_answer;
    from_lower.push_back({State::AwaitingAnswer, accepts});
    auto from_higher = without_answer;
    from_higher.push_back({State::AwaitingAnswer, to(Reply::Refuse, State::AwaitingAnswer)});
    expect_all(called, lower, unchanged_but(Reply::None, from_lower), unchanged(Reply::None));
    expect_all(called, higher, unchanged_but(Reply::None, from_higher), unchanged(Reply::None));
}

void without_a_descriptor_no_call_is_accepted(void** /*state*/) {
    const auto lack_in = [](State state) { return std::pair(state, to(Reply::Lack, state)); };
    std::vector<std::pair<State, Outcome>> lacks{lack_in(State::None), lack_in(State::Calling),
                                                 lack_in(State::AwaitingCall)};
    lacks.push_back({State::AwaitingAnswer, to(Reply::Refuse, State::AwaitingAnswer)});
    expect_all(called_in_need, higher, unchanged_but(Reply::None, lacks), unchanged(Reply::None));
    lacks.back() = lack_in(State::AwaitingAnswer);
    expect_all(called_in_need, lower, unchanged_but(Reply::None, lacks), unchanged(Reply::None));
}

void a_call_that_was_accepted_and_broke_is_replaced_by_one_of_this_rank(void** /*state*/) {
    expect(call_broke, higher, State::Connected, false, calls);
    expect(call_broke, higher, State::Connected, true, fails_as_gone);
}

void nothing_follows_after_the_end(void** /*state*/) {
    for (const Event& one : {need, asked, lose, failed, failed_here, missed, reached, proved,
                             called, called_in_need, call_broke}) {
        for (const State state : all_states) {
            Attempts attempts = in_state(state, higher);
            attempts.end();
            const int returned = one.happens(attempts, higher, {start, false});
            if (returned != 0) fail_msg("%s in state %d", one.name, static_cast<int>(state));
            assert_false(attempts.next_time().has_value());
        }
    }
}

void each_attempt_may_take_twice_as_long_as_the_one_before(void** /*state*/) {
    Attempts::Attempt attempt = first();
    attempt.strangers = {"elsewhere"};
    Time next = start;
    for (const Attempts::Milliseconds timeout :
         {200ms, 400ms, 800ms, 1600ms, 3200ms, 3200ms, 3200ms}) {
        assert_true(attempt.timeout == timeout);
        assert_true(attempt.next == next);
        assert_true(attempt.until == start + Attempts::total);
        next += timeout;
        attempt = attempt.successor();
        assert_true(attempt.strangers.empty());
    }
}

void after_its_time_no_further_attempt_is_made(void** /*state*/) {
    for (const auto& [past, action] :
         {std::pair{Attempts::total - 1ms, Action::CallAndAsk}, {Attempts::total, Action::Fail}}) {
        Attempts attempts = in_state(State::Calling, higher);
        assert_true(attempts.failed(higher, first(), of_network, {start + past, false}) == action);
    }
}

// Its calls fail, too, so the network refuses both.
void a_refusal_is_final_once_that_rank_has_asked_often_enough(void** /*state*/) {
    for (int times = 0; times <= Attempts::least_asked; ++times) {
        for (const bool is_refused : {false, true}) {
            Attempts attempts = in_state(State::Calling, higher);
            for (int i = 0; i < times; ++i) {
                assert_true(attempts.asked(higher, true, {start, false}) == Action::Nothing);
            }
            const bool is_final = is_refused && times == Attempts::least_asked;
            assert_true(attempts.failed(higher, first(), is_refused ? refused : of_network,
                                        {start, false}) ==
                        (is_final ? Action::Fail : Action::CallAndAsk));
        }
    }
}

void only_requests_since_this_rank_began_to_call_count(void** /*state*/) {
    Attempts attempts = make_attempts();
    for (int i = 0; i < Attempts::least_asked; ++i) {
        assert_true(attempts.asked(higher, false, {start, false}) == Action::Nothing);
    }
    assert_true(attempts.need(higher, {start, false}) == Action::Call);
    assert_true(attempts.failed(higher, first(), refused, {start, false}) == Action::CallAndAsk);
}

// Ranks 2 and 3 are on host "b".
void a_rank_behind_a_hidden_way_is_asked_at_once_and_called_later(void** /*state*/) {
    Attempts attempts = in_state(State::Calling, 2);
    assert_true(attempts.failed(2, first().successor(), of_network, {start, false}) ==
                Action::CallAndAsk);
    assert_true(attempts.need(3, {start, false}) == Action::CallAndAsk);
    assert_true(attempts.need(lower, {start, false}) == Action::Call);
    assert_int_equal(attempts.begin_next().peer, lower);
    assert_true(attempts.next_time() == start + Attempts::first_timeout);
    assert_true(attempts.reached(2) && attempts.proved(2));
    attempts.cancel(3);
    assert_true(attempts.need(3, {start, false}) == Action::Call);
    assert_true(attempts.next_time() == start);
}

void the_earliest_attempt_that_is_not_under_way_is_next(void** /*state*/) {
    Attempts attempts = make_attempts();
    assert_false(attempts.next_time().has_value());
    assert_true(attempts.need(3, {start + 2ms, false}) == Action::Call);
    assert_true(attempts.need(2, {start + 1ms, false}) == Action::Call);
    assert_true(attempts.need(lower, {start + 3ms, false}) == Action::Call);
    for (const auto& [peer, next] : {std::pair{2, 1ms}, {3, 2ms}, {lower, 3ms}}) {
        assert_true(attempts.next_time() == start + next);
        const Attempts::Call call = attempts.begin_next();
        assert_int_equal(call.peer, peer);
        assert_true(call.attempt.next == start + next);
    }
    assert_false(attempts.next_time().has_value());
    assert_true(attempts.failed(3, first(), of_network, {start, false}) == Action::CallAndAsk);
    assert_true(attempts.next_time() == start);
}

void an_attempt_ends_with_its_state(void** /*state*/) {
    for (const Event& one : {lose, failed_here, reached, called}) {
        Attempts attempts = in_state(State::Calling, lower);
        one.happens(attempts, lower, {start, false});
        assert_false(attempts.next_time().has_value());
    }
    Attempts attempts = in_state(State::Calling, lower);
    attempts.cancel(lower);
    assert_false(attempts.next_time().has_value());
    assert_false(attempts.has_begun(lower));
}

void hosts_of_other_processes_are_passed_over_at_once(void** /*state*/) {
    Attempts attempts = make_attempts();
    assert_true(attempts.need(higher, {start, false}) == Action::Call);
    std::vector<std::string> strangers;
    Attempts::Attempt next = attempts.begin_next().attempt.successor();
    for (const std::string host : {"x", "y"}) {
        assert_true(attempts.reached(higher));
        const Time now = next.next + 5ms;
        assert_true(attempts.missed(higher, next, host, {now, false}) == Action::Call);
        const Attempts::Call call = attempts.begin_next();
        strangers.push_back(host);
        assert_true(call.attempt.next == now && call.attempt.strangers == strangers);
        next = call.attempt;
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_rank_is_called_when_it_is_needed_or_asks),
        TUTTI_TEST(a_rank_that_goes_is_waited_for_only_where_it_may_have_answered),
        TUTTI_TEST(a_call_that_fails_is_made_again_unless_the_fault_lies_here),
        TUTTI_TEST(who_takes_the_call_must_prove_who_it_is),
        TUTTI_TEST(a_rank_that_calls_is_accepted_unless_this_call_comes_first),
        TUTTI_TEST(without_a_descriptor_no_call_is_accepted),
        TUTTI_TEST(a_call_that_was_accepted_and_broke_is_replaced_by_one_of_this_rank),
        TUTTI_TEST(nothing_follows_after_the_end),
        TUTTI_TEST(each_attempt_may_take_twice_as_long_as_the_one_before),
        TUTTI_TEST(after_its_time_no_further_attempt_is_made),
        TUTTI_TEST(a_refusal_is_final_once_that_rank_has_asked_often_enough),
        TUTTI_TEST(only_requests_since_this_rank_began_to_call_count),
        TUTTI_TEST(a_rank_behind_a_hidden_way_is_asked_at_once_and_called_later),
        TUTTI_TEST(the_earliest_attempt_that_is_not_under_way_is_next),
        TUTTI_TEST(an_attempt_ends_with_its_state),
        TUTTI_TEST(hosts_of_other_processes_are_passed_over_at_once),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
