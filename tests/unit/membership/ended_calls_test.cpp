// Calls that have ended well, and the failure of a later one.
#include <atomic>
#include <span>
#include <string>
#include <thread>

#include "members.hpp"
#include "membership/protocol.hpp"
#include "membership/world.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

const Status cause{TUTTI_ERR_BACKEND, 0, 0, "a word"};

void end_calls(Membership& group, std::initializer_list<uint64_t> calls) {
    for (const uint64_t call : calls) group.ended(call);
}

void a_failure_waits_for_the_calls_before_it(void**) {
    Members members(3);
    end_calls(*members[0], {1, 2, 3});
    members[0]->report(cause);  // of call 4
    end_calls(*members[1], {1, 2, 3});
    assert_string_equal(members[1].failure().message.c_str(), "a word");

    Membership& late = *members[2];
    assert_string_equal(late.await_failure(ample()).message.c_str(), "a word");
    assert_false(late.trouble(2).ok());
    assert_true(late.trouble_in(3, 2).ok());
    assert_false(late.trouble_in(4, 2).ok());
    end_calls(late, {3, 1});  // in any order
    assert_int_equal(members[2].failures(), 0);
    assert_true(late.end_of_calls().ok());
    end_calls(late, {2});
    assert_string_equal(members[2].failure().message.c_str(), "a word");
    assert_int_equal(members[2].failures(), 1);
    assert_false(late.end_of_calls().ok());
}

void a_failure_of_an_earlier_call_is_told_instead(void**) {
    Members members(3);
    end_calls(*members[0], {1, 2, 3});
    members[0]->report(cause);
    members[2]->await_failure(ample());
    end_calls(*members[1], {1});
    members[1]->report({TUTTI_ERR_TIMEOUT, 1, 0, "the earlier one"});
    end_calls(*members[2], {1});
    assert_string_equal(members[2].failure().message.c_str(), "the earlier one");
    assert_int_equal(members[2].failures(), 1);
}

// A listener that ends the last call before the failed one, on this thread and on another, for
// which it waits.
class Ending final : public MembershipListener {
public:
    explicit Ending(Membership& group) : group_(group) {}
    [[nodiscard]] int failures() const { return failures_; }

private:
    void failing(const Status& /*cause*/) noexcept override {
        std::thread([this] { group_.ended(1); }).join();
        group_.ended(2);
    }
    void failed(const Status& /*cause*/) noexcept override { ++failures_; }

    Membership& group_;
    std::atomic<int> failures_{0};
};

void a_call_may_end_while_the_listener_is_told_of_the_failure(void**) {
    Members members(2);
    Membership& late = *members[1];
    late.unsubscribe();
    Ending listener(late);
    end_calls(*members[0], {1, 2});
    members[0]->report(cause);
    late.await_failure(ample());
    late.subscribe(listener);
    assert_int_equal(listener.failures(), 1);
    assert_false(late.end_of_calls().ok());
    late.unsubscribe();
}

void a_rank_whose_message_failed_comes_to_no_call_any_more(void**) {
    Members members(3);
    end_calls(*members[0], {1, 2, 3});
    members[0]->report(cause);
    for (const size_t rank : {size_t{1}, size_t{2}}) {
        end_calls(*members[rank], {1});
        members[rank]->await_failure(ample());
        assert_int_equal(members[rank].failures(), 0);
    }
    members[2]->message_failed();
    assert_string_equal(members[1].failure().message.c_str(), "a word");
    assert_int_equal(members[1].failure().rank, 0);
}

void who_leaves_after_a_failure_leaves_because_of_it(void**) {
    Members members(3);
    const Status left{TUTTI_ERR_PEER_LOST, 2, 0, "rank 2 left the group"};
    members[2].destroy();
    members[1].farewells(1);
    assert_string_equal(members[1]->reason_of(left).message.c_str(), left.message.c_str());
    end_calls(*members[0], {1});
    members[0]->report(cause);
    members[1]->await_failure(ample());
    assert_string_equal(members[1]->reason_of(left).message.c_str(), "a word");
    assert_string_equal(members[1]->reason_of({TUTTI_ERR_PEER_LOST, -1, 0, "all"}).message.c_str(),
                        "a word");
    assert_int_equal(members[1]->reason_of({TUTTI_ERR_PEER_LOST, 0, 0, "died"}).code,
                     TUTTI_ERR_PEER_LOST);
}

void a_rank_that_has_failed_itself_has_no_call_left(void**) {
    Members members(2);
    end_calls(*members[0], {1, 2});
    members[0]->report(cause);
    members[1]->await_failure(ample());
    members[1]->report({TUTTI_ERR_TIMEOUT, 0, 0, "too late"});
    assert_false(members[1]->trouble_in(1, 1).ok());
}

// The test plays the arbiter of rank 1 of 2.
class PlayedWorld final : public World {
public:
    PlayedWorld() : World(1, 2) {}
    ~PlayedWorld() override { end_resources(); }
    void bring(const std::string& bytes) {
        membership::FrameReader().feed(std::as_bytes(std::span(bytes)),
                                       [this](const membership::Frame& frame) {
                                           handle(frame);
                                           return true;
                                       });
    }
    [[nodiscard]] std::string identity() const override { return "played"; }
    [[nodiscard]] bool same_host(int /*rank*/) const override { return true; }
    [[nodiscard]] Routes routes() const override { return {}; }
    void send(std::string /*frame*/) noexcept override {}
    void suspect(const Status& /*suspicion*/) noexcept override {}
    void leave() noexcept override {}
};

class Hearing final : public MembershipListener {
public:
    [[nodiscard]] const std::string& heard() const { return heard_; }

private:
    void failed(const Status& why) noexcept override { heard_ += why.message + ";"; }
    void left(int rank) noexcept override { heard_ += cat(rank, " left;"); }
    std::string heard_;
};

void a_rank_that_leaves_all_groups_has_not_left_a_new_one_before_its_failure(void**) {
    using membership::encode;
    using membership::Kind;
    constexpr uint32_t group = 3;
    const auto world = std::make_shared<PlayedWorld>();
    const std::string departure = encode(Kind::Left, 0, std::vector{0});
    for (const bool is_made_later : {false, true}) {
        if (is_made_later) world->bring(departure);
        Membership made(world, group, {0, 1});
        Hearing listener;
        made.subscribe(listener);
        if (!is_made_later) world->bring(departure);
        assert_string_equal(listener.heard().c_str(), "");
        assert_true(made.trouble(0).ok());
        world->bring(encode(Kind::Verdict, group, membership::Failure{cause, 1}));
        world->bring(encode(Kind::Left, group, std::vector<int>{}));
        assert_string_equal(listener.heard().c_str(), "a word;0 left;");
        made.unsubscribe();
    }
}

// By each rank, also by the one whose process coordinates.
void a_failure_right_after_the_making_of_a_group_is_told_to_all(void**) {
    const std::vector<int> both{0, 1};
    for (const size_t reporter : {size_t{0}, size_t{1}}) {
        for (int turn = 0; turn < 10; ++turn) {
            Members members(2);
            Membership first(members[reporter]->shared_world(), 5, both);
            first.report(cause);
            Membership late(members[1 - reporter]->shared_world(), 5, both);
            assert_string_equal(late.await_failure(ample()).message.c_str(), "a word");
        }
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_failure_waits_for_the_calls_before_it),
        TUTTI_TEST(a_failure_of_an_earlier_call_is_told_instead),
        TUTTI_TEST(a_call_may_end_while_the_listener_is_told_of_the_failure),
        TUTTI_TEST(a_rank_whose_message_failed_comes_to_no_call_any_more),
        TUTTI_TEST(who_leaves_after_a_failure_leaves_because_of_it),
        TUTTI_TEST(a_rank_that_has_failed_itself_has_no_call_left),
        TUTTI_TEST(a_rank_that_leaves_all_groups_has_not_left_a_new_one_before_its_failure),
        TUTTI_TEST(a_failure_right_after_the_making_of_a_group_is_told_to_all),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
