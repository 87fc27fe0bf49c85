// What is decided, as a function of what ranks say: no connections, no time.
#include "membership/arbiter.hpp"

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
    void arrive(int rank, const StepArrival& arrival) {
        with_frame(encode(arrival), [&](const Frame& frame) { arbiter.handle(rank, frame); });
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

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(groups_get_numbers_as_long_as_there_are_any),
        TUTTI_TEST(a_step_in_which_too_much_is_said_fails_alone),
        TUTTI_TEST(an_outcome_that_one_rank_has_heard_holds_for_all),
        TUTTI_TEST(who_cannot_be_called_is_asked_by_name),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
