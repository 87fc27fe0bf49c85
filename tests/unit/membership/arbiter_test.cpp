// The decision, as a function of the ranks' messages: no connections, no time.
#include "membership/arbiter.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/unit.hpp"

namespace {

using namespace tutti;
using namespace tutti::membership;

template <typename Use>
void with_frame(const std::string& bytes, Use&& use) {
    FrameReader().feed(std::as_bytes(std::span(bytes)), [&](const Frame& frame) {
        use(frame);
        return true;
    });
}

// An arbiter of ranks that have all entered, and the last thing each heard.
class Court {
public:
    explicit Court(int size)
        : arbiter(size, [this](int rank, const std::string& frame) { last[rank] = frame; }) {
        for (int rank = 0; rank < size; ++rank) arbiter.enter(rank);
    }
    void say(int rank, const std::string& bytes) {
        with_frame(bytes, [&](const Frame& frame) { arbiter.handle(rank, frame); });
    }
    void arrive(int rank, const StepArrival& arrival) { say(rank, encode(arrival)); }
    void give_up(int rank, const GiveUp& give_up) { say(rank, encode(give_up)); }
    void stall(int rank, const Stall& stall) { say(rank, encode(0, stall)); }
    // The last thing that this rank heard.
    Status verdict(int rank) {
        Status verdict;
        with_frame(last[rank], [&](const Frame& frame) {
            assert_int_equal(static_cast<int>(frame.kind), static_cast<int>(Kind::Verdict));
            verdict = decode_failure(frame).content.cause;
        });
        return verdict;
    }
    StepFailed failure(int rank) {
        StepFailed failed;
        with_frame(last[rank], [&](const Frame& frame) {
            assert_int_equal(static_cast<int>(frame.kind), static_cast<int>(Kind::StepFailed));
            failed = decode_step_failed(frame);
        });
        return failed;
    }
    StepCompleted outcome(int rank) {
        StepCompleted completed;
        with_frame(last[rank], [&](const Frame& frame) {
            assert_int_equal(static_cast<int>(frame.kind), static_cast<int>(Kind::StepCompleted));
            completed = decode_step_completed(frame);
        });
        return completed;
    }

    std::map<int, std::string> last;
    Arbiter arbiter;
};

// A rank that learns from the verdict that one is lost asks at once which ones are.
void a_loss_is_announced_before_the_verdict_that_it_causes(void**) {
    Court court(3);
    court.arbiter.declare_lost({TUTTI_ERR_PEER_LOST, 1, 0, "rank 1 died"});
    for (const int rank : {0, 2}) assert_int_equal(court.verdict(rank).rank, 1);
}

void groups_get_numbers_as_long_as_there_are_any(void**) {
    constexpr uint32_t all = (1 << 24) - 1;
    Court court(2);
    court.arbiter.restore({}, {}, {}, all - 3);
    for (int rank = 0; rank < 2; ++rank) court.arrive(rank, {0, "a", {0, 1}, 2, "", {}});
    assert_int_equal(court.outcome(1).first_group_id, all - 2);
    for (int rank = 0; rank < 2; ++rank) court.arrive(rank, {0, "b", {0, 1}, 2, "", {}});
    for (int rank = 0; rank < 2; ++rank) {
        const StepFailed failed = court.failure(rank);
        assert_int_equal(failed.cause.code, TUTTI_ERR_OUT_OF_MEMORY);
        assert_true(failed.cause.message.find("no ids for new groups") != std::string::npos);
    }
    for (int rank = 0; rank < 2; ++rank) court.arrive(rank, {0, "c", {0, 1}, 1, "", {}});
    assert_int_equal(court.outcome(0).first_group_id, all);
}

void a_step_in_which_too_much_is_said_fails_alone(void**) {
    Court court(3);
    const std::string much(12 << 20, 'x');
    for (int rank = 0; rank < 3; ++rank) court.arrive(rank, {0, "much", {0, 1, 2}, 0, much, {}});
    for (int rank = 0; rank < 3; ++rank) {
        assert_int_equal(court.failure(rank).cause.code, TUTTI_ERR_OUT_OF_MEMORY);
    }
    assert_false(court.arbiter.is_decided());
    for (int rank = 0; rank < 3; ++rank) court.arrive(rank, {0, "little", {0, 1, 2}, 0, "x", {}});
    assert_int_equal(court.outcome(2).payloads.size(), 3);
}

void an_outcome_that_one_rank_has_heard_holds_for_all(void**) {
    Court court(3);
    const StepArrival same{0, "step", {0, 1, 2}, 1, "x", {}};
    court.arrive(0, same);
    const StepCompleted told{0, "step", 7, {"x", "x", "x"}};
    with_frame(encode(told), [&](const Frame& frame) { court.arbiter.handle(1, frame); });
    court.arrive(2, same);
    for (const int rank : {0, 2}) assert_int_equal(court.outcome(rank).first_group_id, 7);
    for (int rank = 0; rank < 3; ++rank) court.arrive(rank, {0, "next", {0, 1, 2}, 1, "x", {}});
    assert_true(court.outcome(1).first_group_id > 7);
}

void who_cannot_be_called_is_asked_by_name(void**) {
    Court court(3);
    const auto ask = [&](int rank, int other) {
        with_frame(encode(Kind::Connect, other),
                   [&](const Frame& frame) { court.arbiter.handle(rank, frame); });
    };
    ask(2, 1);
    with_frame(court.last[1], [&](const Frame& frame) {
        assert_int_equal(static_cast<int>(frame.kind), static_cast<int>(Kind::Connect));
        assert_int_equal(decode_rank(frame), 2);
    });
    const auto before = court.last;
    for (const int nobody : {-1, 3, 1 << 30}) ask(0, nobody);
    assert_true(court.last == before);
}

// The events of ranks in call 5: a rank's own events come in this order, those of different ranks
// in any.
struct Event {
    int rank;
    std::string frame;
};

void expect_no_verdict(const std::vector<Event>& events) {
    Court court(3);
    for (const Event& event : events) court.say(event.rank, event.frame);
    assert_false(court.arbiter.is_decided());
}

// Calls `use` with all merged orders.
void for_every_order(const std::vector<std::vector<Event>>& by_rank, std::vector<Event>& so_far,
                     const std::function<void(const std::vector<Event>&)>& use) {
    bool is_complete = true;
    for (size_t rank = 0; rank < by_rank.size(); ++rank) {
        if (by_rank[rank].empty()) continue;
        is_complete = false;
        auto rest = by_rank;
        so_far.push_back(rest[rank].front());
        rest[rank].erase(rest[rank].begin());
        for_every_order(rest, so_far, use);
        so_far.pop_back();
    }
    if (is_complete) use(so_far);
}

const Stall comparing_or_moving{5, "all_reduce", true, "all_reduce #5"};

std::string comes_to_compare(uint64_t sequence) {
    return encode(StepArrival{0, cat("compare/", sequence), {0, 1, 2}, 0, "x", {}});
}

void a_rank_that_compares_and_one_that_moves_data_are_in_one_call(void**) {
    const std::string stalls = encode(0, comparing_or_moving);
    std::vector<std::vector<Event>> by_rank;
    for (int rank = 0; rank < 3; ++rank) {
        by_rank.push_back({{rank, comes_to_compare(5)}, {rank, stalls}});
    }
    by_rank[2].push_back({2, stalls});  // and then moves data
    std::vector<Event> so_far;
    size_t orders = 0;
    for_every_order(by_rank, so_far, [&](const std::vector<Event>& events) {
        ++orders;
        expect_no_verdict(events);
    });
    assert_int_equal(orders, 210);  // 7! / (2! 2! 3!)
}

// The arbiter before knew the outcome; the one that follows hears of it last, or never.
void ranks_that_say_it_again_to_another_arbiter_accuse_nobody(void**) {
    const std::string stalls = encode(0, comparing_or_moving);
    const std::vector<std::vector<Event>> by_rank{
        {{0, comes_to_compare(5)}, {0, stalls}},
        {{1, stalls}, {1, stalls}},
        {{2, encode(StepCompleted{0, "compare/5", 1, {"x", "x", "x"}})}, {2, stalls}}};
    std::vector<Event> so_far;
    for_every_order(by_rank, so_far, expect_no_verdict);
}

void expect_mismatch(const Stall& first, const Stall& second, const char* text) {
    Court court(3);
    court.stall(0, first);
    assert_false(court.arbiter.is_decided());
    court.stall(2, second);
    for (int rank = 0; rank < 3; ++rank) {
        const Status verdict = court.verdict(rank);
        assert_int_equal(verdict.code, TUTTI_ERR_MISMATCH);
        assert_int_equal(verdict.rank, 2);
        assert_string_equal(verdict.message.c_str(), text);
    }
}

void a_rank_that_compares_first_and_one_that_does_not_are_a_mismatch(void**) {
    Stall at_once = comparing_or_moving;
    at_once.compares_first = false;
    expect_mismatch(comparing_or_moving, at_once,
                    "rank 2 called all_reduce #5 while rank 0 called all_reduce #5 under "
                    "TORCH_DISTRIBUTED_DEBUG=DETAIL");
    expect_mismatch(at_once, comparing_or_moving,
                    "rank 2 called all_reduce #5 under TORCH_DISTRIBUTED_DEBUG=DETAIL while rank 0 "
                    "called all_reduce #5");
}

void ranks_that_stall_in_different_calls_are_a_mismatch(void**) {
    for (const bool compares_first : {false, true}) {
        expect_mismatch({5, "a", compares_first, "barrier #5"},
                        {5, "b", compares_first, "broadcast #5"},
                        "rank 2 called broadcast #5 while rank 0 called barrier #5");
    }
}

// Only a rank itself may know the name of its reduce function.
void one_call_may_have_several_names(void**) {
    expect_no_verdict({{0, encode(0, Stall{5, "a", false, "all_reduce #5 (keep)"})},
                       {2, encode(0, Stall{5, "a", false, "all_reduce #5 (op 17)"})}});
}

// A rank that only sends has left the call before anybody knows.
void a_call_that_its_rank_has_finished_is_still_compared(void**) {
    for (const uint64_t other : {5, 6}) {
        Court court(3);
        court.stall(0, {5, "a", false, "broadcast #5"});
        court.stall(0, {6, "b", false, "barrier #6"});
        court.stall(1, {5, "a", false, "broadcast #5"});
        court.stall(2, {4, "b", false, "barrier #4"});
        assert_false(court.arbiter.is_decided());
        court.stall(2, {other, "c", false, "gather"});
        assert_true(court.arbiter.is_decided());
    }
}

// Nothing is kept of calls that are long over, however many there are.
void claims_of_many_calls_are_forgotten(void**) {
    Court court(3);
    court.stall(0, {5, "a", false, "broadcast #5"});
    for (uint64_t sequence = 6; sequence < 2000; ++sequence) {
        court.stall(0, {sequence, "b", false, "barrier"});
    }
    court.stall(1, {5, "c", false, "gather #5"});
    assert_false(court.arbiter.is_decided());
    court.stall(1, {1999, "c", false, "gather #1999"});
    assert_true(court.arbiter.is_decided());
}

StepArrival comes_to_barrier() {
    return {0, "barrier", {0, 1, 2}, 0, "", {}};
}

void the_judge_of_a_step_gives_up_for_all(void**) {
    Court court(3);
    for (const int rank : {0, 1}) court.arrive(rank, comes_to_barrier());
    court.give_up(0, {0, "barrier", 0});
    for (const int rank : {0, 1}) {
        assert_int_equal(court.failure(rank).cause.code, TUTTI_ERR_TIMEOUT);
        assert_true(court.failure(rank).missing == std::vector{2});
    }
}

void a_rank_gives_up_only_while_the_judge_is_away(void**) {
    Court away(3);
    away.arrive(1, comes_to_barrier());
    away.give_up(1, {0, "barrier", 0});
    assert_true(away.failure(1).missing == (std::vector{0, 2}));

    Court here(3);
    for (const int rank : {0, 1}) here.arrive(rank, comes_to_barrier());
    here.give_up(1, {0, "barrier", 0});
    here.arrive(2, comes_to_barrier());
    assert_int_equal(here.outcome(1).payloads.size(), 3);
}

// The failure of the earlier call ends more.
void a_failure_of_an_earlier_call_comes_before_the_first(void**) {
    Court court(3);
    const auto report = [&](int rank, uint64_t first_call) {
        court.say(rank, encode(Kind::Report, 0,
                               Failure{{TUTTI_ERR_BACKEND, rank, 0, "failed"}, first_call}));
    };
    const auto first_call = [&](int rank) {
        uint64_t first = 0;
        with_frame(court.last[rank],
                   [&](const Frame& frame) { first = decode_failure(frame).content.first_call; });
        return first;
    };
    report(1, 7);
    for (const auto& [rank, later] : std::map<int, uint64_t>{{0, 9}, {1, 7}, {2, 8}}) {
        report(rank, later);
        assert_int_equal(court.verdict(rank).rank, 1);
        assert_int_equal(first_call(rank), 7);
    }
    report(2, 5);
    for (int rank = 0; rank < 3; ++rank) {
        assert_int_equal(court.verdict(rank).rank, 2);
        assert_int_equal(first_call(rank), 5);
    }
}

// A step without the failed rank may go on; one that it has passed has ended for all.
void a_failure_ends_the_steps_of_its_rank(void**) {
    Court court(3);
    court.arrive(0, {0, "all", {0, 1, 2}, 0, "x", {}});
    court.arrive(0, {0, "two", {0, 2}, 0, "x", {}});
    court.say(1, encode(Kind::Report, 0, Failure{{TUTTI_ERR_BACKEND, 1, 0, "the end"}, 4}));
    assert_string_equal(court.failure(0).cause.message.c_str(), "the end");
    court.arrive(2, {0, "two", {0, 2}, 0, "x", {}});
    assert_int_equal(court.outcome(0).payloads.size(), 2);
    court.arrive(2, {0, "more", {1, 2}, 0, "x", {}});
    assert_string_equal(court.failure(2).cause.message.c_str(), "the end");
}

// A rank that has not made the group yet could not keep what it hears of it.
void why_a_group_failed_comes_before_who_has_left_it(void**) {
    constexpr uint32_t group = 5;
    std::vector<Kind> heard;  // by rank 1
    Arbiter arbiter(2, [&](int rank, const std::string& bytes) {
        if (rank == 1) with_frame(bytes, [&](const Frame& frame) { heard.push_back(frame.kind); });
    });
    const auto say = [&](int rank, const std::string& bytes) {
        with_frame(bytes, [&](const Frame& frame) { arbiter.handle(rank, frame); });
    };
    const std::string open = encode(Kind::Open, group, std::vector{0, 1});
    for (const int rank : {0, 1}) arbiter.enter(rank);
    say(0, open);
    say(0, encode(Kind::Report, group, Failure{{TUTTI_ERR_BACKEND, 0, 0, "the end"}, 1}));
    say(0, encode(Kind::Bye, group, std::vector<int>{}));
    arbiter.announce_departures();
    assert_true(heard.empty());
    say(1, open);
    assert_true(heard == (std::vector{Kind::Verdict, Kind::Left}));
}

// It knows the verdict of the arbiter before, and not who had reported it.
void a_failure_explains_who_left_the_arbiter_before(void**) {
    Court court(3);
    court.arbiter.restore({0}, {}, {{TUTTI_ERR_BACKEND, 0, 0, "the end"}, 1}, 0);
    court.arrive(1, {0, "all", {0, 1, 2}, 0, "x", {}});
    assert_string_equal(court.failure(1).cause.message.c_str(), "the end");
    court.arrive(1, {0, "two", {1, 2}, 0, "x", {}});
    court.say(2, encode(Kind::Bye, 0, std::vector<int>{}));
    assert_string_equal(court.failure(1).cause.message.c_str(), "the end");
}

// It is the failure of the step's group, whether the rank has left that group or all of them,
// before or after the others have arrived.
void a_failure_explains_who_left_every_group(void**) {
    const Failure failure{{TUTTI_ERR_BACKEND, 0, 0, "the end"}, 3};
    const StepArrival arrival{7, "two", {1, 2}, 0, "x", {}};
    for (const uint32_t left_group : {0U, 7U}) {
        for (const bool arrives_first : {true, false}) {
            Court court(3);
            for (int rank = 0; rank < 3; ++rank) {
                court.say(rank, encode(Kind::Open, 7, std::vector{0, 1, 2}));
            }
            court.say(0, encode(Kind::Report, 7, failure));
            if (arrives_first) court.arrive(1, arrival);
            court.say(2, encode(Kind::Bye, left_group, std::vector<int>{}));
            if (!arrives_first) court.arrive(1, arrival);
            assert_string_equal(court.failure(1).cause.message.c_str(), "the end");
        }
    }
}

void who_makes_a_group_is_answered(void**) {
    Court court(2);
    court.last.clear();
    court.say(1, encode(Kind::Open, 5, std::vector{0, 1}));
    with_frame(court.last[1], [&](const Frame& frame) {
        assert_int_equal(static_cast<int>(frame.kind), static_cast<int>(Kind::Left));
        assert_true(decode_ranks(frame).content.empty());
    });
    assert_true(court.last[0].empty());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_loss_is_announced_before_the_verdict_that_it_causes),
        TUTTI_TEST(groups_get_numbers_as_long_as_there_are_any),
        TUTTI_TEST(a_step_in_which_too_much_is_said_fails_alone),
        TUTTI_TEST(an_outcome_that_one_rank_has_heard_holds_for_all),
        TUTTI_TEST(who_cannot_be_called_is_asked_by_name),
        TUTTI_TEST(a_rank_that_compares_and_one_that_moves_data_are_in_one_call),
        TUTTI_TEST(ranks_that_say_it_again_to_another_arbiter_accuse_nobody),
        TUTTI_TEST(a_rank_that_compares_first_and_one_that_does_not_are_a_mismatch),
        TUTTI_TEST(ranks_that_stall_in_different_calls_are_a_mismatch),
        TUTTI_TEST(one_call_may_have_several_names),
        TUTTI_TEST(a_call_that_its_rank_has_finished_is_still_compared),
        TUTTI_TEST(claims_of_many_calls_are_forgotten),
        TUTTI_TEST(the_judge_of_a_step_gives_up_for_all),
        TUTTI_TEST(a_failure_of_an_earlier_call_comes_before_the_first),
        TUTTI_TEST(a_failure_ends_the_steps_of_its_rank),
        TUTTI_TEST(a_rank_gives_up_only_while_the_judge_is_away),
        TUTTI_TEST(why_a_group_failed_comes_before_who_has_left_it),
        TUTTI_TEST(a_failure_explains_who_left_the_arbiter_before),
        TUTTI_TEST(a_failure_explains_who_left_every_group),
        TUTTI_TEST(who_makes_a_group_is_answered),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
