// Does a diagnosis name the rank that a job waits for, and its call? Records of ranks that hang in
// many ways. One thread.
#include "trace/diagnosis.hpp"

#include <csignal>

#include "rings.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;
using record::Kind;
using trace::Ending;
using trace::ProcessState;
using trace::Recording;
using trace::Trouble;

std::vector<Trouble> troubles_of(std::vector<Recording> all, const std::vector<Ending>& endings) {
    return trace::diagnose(trace::make_job(std::move(all), endings));
}

std::string shown(const std::vector<Trouble>& troubles) {
    std::string text = "the sentences:";
    for (const Trouble& one : troubles) text += "\n  " + one.sentence;
    return text;
}

// The first trouble has this sentence, and these ranks are at fault.
void expect(std::vector<Recording> all, const std::vector<int>& ranks, const std::string& sentence,
            const std::vector<Ending>& endings = {}) {
    const auto troubles = troubles_of(std::move(all), endings);
    const bool is_right = !troubles.empty() && troubles[0].sentence == sentence;
    if (is_right && troubles[0].ranks == ranks) return;
    std::string at_fault;
    if (!troubles.empty()) {
        for (const int rank : troubles[0].ranks) at_fault += " " + std::to_string(rank);
    }
    fail_msg("wanted\n  %s\n%s\nat fault:%s", sentence.c_str(), shown(troubles).c_str(),
             at_fault.c_str());
}

void expect_none(std::vector<Recording> all) {
    const auto troubles = troubles_of(std::move(all), {});
    if (!troubles.empty()) fail_msg("%s", shown(troubles).c_str());
}

// Ranks 0, 1 and 3 of 4 are in all_reduce #17.
std::vector<Recording> three_wait(double ago = 12.3) {
    std::vector<Recording> all;
    for (const int rank : {0, 1, 3}) {
        all.push_back(
            Ring(rank, 4).all_reduces(16, 12.5).add({.sequence = 17, .created = ago}).recording());
    }
    return all;
}

std::vector<Recording> with(std::vector<Recording> all, Recording one) {
    all.push_back(std::move(one));
    return all;
}

Ending killed(int rank, int signal = SIGKILL) {
    return {rank, {true, signal, false}};
}

void a_rank_is_in_its_own_code(void**) {
    expect(with(three_wait(), Ring(2, 4).all_reduces(16, 12.1).recording()), {2},
           "all_reduce #17 of group world: ranks 0, 1 and 3 have waited 12.3 s; rank 2 is not in "
           "it: its last call, #16, completed 12.1 s ago");
}

void a_rank_was_killed(void**) {
    expect(with(three_wait(), Ring(2, 4).all_reduces(16, 12.1).recording(ProcessState::Ended)), {2},
           "all_reduce #17 of group world: ranks 0, 1 and 3 have waited 12.3 s; rank 2 is not in "
           "it: its last call, #16, completed 12.1 s ago; it was killed by signal 9 (SIGKILL)",
           {killed(2)});
}

void a_rank_has_ended_and_nobody_knows_how(void**) {
    expect(with(three_wait(), Ring(2, 4).all_reduces(16, 12.1).recording(ProcessState::Ended)), {2},
           "all_reduce #17 of group world: ranks 0, 1 and 3 have waited 12.3 s; rank 2 is not in "
           "it: its last call, #16, completed 12.1 s ago; its process has ended");
}

void a_rank_ended_by_itself(void**) {
    expect(with(three_wait(), Ring(2, 4).all_reduces(16, 12.1).recording(ProcessState::Ended)), {2},
           "all_reduce #17 of group world: ranks 0, 1 and 3 have waited 12.3 s; rank 2 is not in "
           "it: its last call, #16, completed 12.1 s ago; it exited with code 0",
           {{2, {false, 0, false}}});
}

void a_rank_is_stopped(void**) {
    expect(with(three_wait(0.2), Ring(2, 4).all_reduces(16, 1).recording(ProcessState::Stopped)),
           {2},
           "all_reduce #17 of group world: ranks 0, 1 and 3 have waited 0.2 s; rank 2 is not in "
           "it: its last call, #16, completed 1.0 s ago; its process is stopped");
}

void a_rank_is_stopped_in_the_call(void**) {
    Ring ring(2, 4);
    ring.all_reduces(16, 12.4).add({.sequence = 17, .created = 12.2});
    expect(with(three_wait(), ring.recording(ProcessState::Stopped)), {2},
           "all_reduce #17 of group world: ranks 0, 1 and 3 have waited 12.3 s; rank 2 is in it, "
           "but its process is stopped");
}

void a_rank_died_in_the_call(void**) {
    Ring ring(2, 4);
    ring.all_reduces(16, 12.4).add({.sequence = 17, .created = 12.2});
    expect(with(three_wait(), ring.recording(ProcessState::Ended)), {2},
           "all_reduce #17 of group world: ranks 0, 1 and 3 have waited 12.3 s; rank 2 is in it, "
           "but it was killed by signal 9 (SIGKILL)",
           {killed(2)});
}

void the_whole_job_was_ended(void**) {
    auto all = with(three_wait(), Ring(2, 4).all_reduces(16, 12.1).recording());
    for (Recording& one : all) one.process = ProcessState::Ended;
    expect(std::move(all), {2},
           "all_reduce #17 of group world: ranks 0, 1 and 3 ended in it; rank 2 is not in it: its "
           "last call, #16, completed 12.1 s ago; its process has ended");
}

void a_debugger_holds_a_rank(void**) {
    expect(with(three_wait(), Ring(2, 4).all_reduces(16, 12.1).recording(ProcessState::Traced)),
           {2},
           "all_reduce #17 of group world: ranks 0, 1 and 3 have waited 12.3 s; rank 2 is not in "
           "it: its last call, #16, completed 12.1 s ago; a debugger holds its process");
}

void a_rank_left_no_record(void**) {
    expect(three_wait(), {2},
           "all_reduce #17 of group world: ranks 0, 1 and 3 have waited 12.3 s; rank 2 is not in "
           "it: it has left no record");
}

void the_last_call_was_another_one(void**) {
    std::vector<Recording> all;
    for (const int rank : {0, 1, 2, 3}) {
        Ring ring(rank, 4);
        ring.all_reduces(15, 13).add(
            {.kind = kind(CallKind::Barrier), .sequence = 16, .created = 12.2, .completed = 12.1});
        if (rank != 2) ring.add({.sequence = 17, .created = 12});
        all.push_back(ring.recording());
    }
    expect(std::move(all), {2},
           "all_reduce #17 of group world: ranks 0, 1 and 3 have waited 12.0 s; rank 2 is not in "
           "it: its last call, barrier #16, completed 12.1 s ago");
}

void all_failed_since_a_rank_died(void**) {
    std::vector<Recording> all;
    for (const int rank : {0, 1, 3}) {
        all.push_back(Ring(rank, 4)
                          .all_reduces(16, 12.5)
                          .add({.sequence = 17,
                                .created = 12.3,
                                .completed = 0.2,
                                .failed = TUTTI_ERR_PEER_LOST})
                          .recording());
    }
    expect(with(std::move(all), Ring(2, 4).all_reduces(16, 12.1).recording(ProcessState::Ended)),
           {2},
           "all_reduce #17 of group world: it failed with PEER_LOST on ranks 0, 1 and 3 0.2 s ago; "
           "rank 2 is not in it: its last call, #16, completed 12.1 s ago; it was killed by signal "
           "9 (SIGKILL)",
           {killed(2)});
}

void a_call_timed_out(void**) {
    std::vector<Recording> all;
    for (const int rank : {0, 1, 3}) {
        all.push_back(
            Ring(rank, 4)
                .all_reduces(16, 12.5)
                .add({.sequence = 17, .created = 12.3, .completed = 2, .failed = TUTTI_ERR_TIMEOUT})
                .recording());
    }
    expect(with(std::move(all), Ring(2, 4).all_reduces(16, 12.1).recording()), {2},
           "all_reduce #17 of group world: it failed with TIMEOUT on ranks 0, 1 and 3 2.0 s ago; "
           "rank 2 is not in it: its last call, #16, completed 12.1 s ago");
}

void a_rank_ran_out_of_memory(void**) {
    std::vector<Recording> all;
    for (const int rank : {0, 1, 2}) {
        const uint8_t status = rank == 1 ? TUTTI_ERR_OUT_OF_MEMORY : TUTTI_ERR_ABORTED;
        all.push_back(Ring(rank, 3)
                          .all_reduces(16, 12.5)
                          .add({.sequence = 17, .created = 3, .completed = 1, .failed = status})
                          .recording());
    }
    expect(std::move(all), {1},
           "all_reduce #17 of group world: it failed with ABORTED on ranks 0 and 2 1.0 s ago and "
           "with OUT_OF_MEMORY on rank 1 1.0 s ago; all its ranks came to it");
}

// Rank 2 differs in something.
void expect_mismatch(const Made& odd, const std::string& described) {
    Ring ring(2, 4);
    ring.all_reduces(16, 12.5).add(odd);
    expect(with(three_wait(), ring.recording()), {2},
           "mismatched calls under #17 of group world: rank 2 called " + described +
               " and ranks 0, 1 and 3 called all_reduce #17 (float32 × 100, SUM); ranks 0, 1, 2 "
               "and 3 have waited 12.3 s");
}

void a_rank_has_another_size(void**) {
    expect_mismatch({.sequence = 17, .created = 12, .count = 99},
                    "all_reduce #17 (float32 × 99, SUM)");
}
void a_rank_has_another_dtype(void**) {
    expect_mismatch({.sequence = 17, .created = 12, .dtype = TUTTI_FLOAT64},
                    "all_reduce #17 (float64 × 100, SUM)");
}
void a_rank_has_another_op(void**) {
    expect_mismatch({.sequence = 17, .created = 12, .op = TUTTI_MAX},
                    "all_reduce #17 (float32 × 100, MAX)");
}
void a_rank_is_in_another_call(void**) {
    expect_mismatch({.kind = kind(CallKind::Barrier),
                     .sequence = 17,
                     .created = 12,
                     .count = 0,
                     .dtype = 0,
                     .op = 0},
                    "barrier #17");
}
void ranks_have_other_roots(void**) {
    std::vector<Recording> all;
    for (const int rank : {0, 1, 2}) {
        all.push_back(Ring(rank, 3)
                          .add({.kind = kind(CallKind::Broadcast),
                                .sequence = 1,
                                .created = 5,
                                .op = 0,
                                .peer = rank == 1 ? 1 : 0})
                          .recording());
    }
    expect(std::move(all), {1},
           "mismatched calls under #1 of group world: rank 1 called broadcast #1 (float32 × 100, "
           "root 1) and ranks 0 and 2 called broadcast #1 (float32 × 100, root 0); ranks 0, 1 and "
           "2 have waited 5.0 s");
}

void a_mismatch_was_reported(void**) {
    std::vector<Recording> all;
    for (const int rank : {0, 1, 2}) {
        all.push_back(Ring(rank, 3)
                          .add({.sequence = 1,
                                .created = 5,
                                .completed = 4,
                                .failed = TUTTI_ERR_MISMATCH,
                                .count = rank == 0 ? 7 : 8})
                          .recording());
    }
    expect(std::move(all), {0},
           "mismatched calls under #1 of group world: rank 0 called all_reduce #1 (float32 × 7, "
           "SUM) and ranks 1 and 2 called all_reduce #1 (float32 × 8, SUM); it failed with "
           "MISMATCH on ranks 0, 1 and 2 4.0 s ago");
}

// A root of a broadcast ends it at once.
void a_mismatch_is_seen_in_the_next_call(void**) {
    std::vector<Recording> all;
    for (const int rank : {0, 1, 2}) {
        const uint8_t status = rank == 0 ? TUTTI_ERR_MISMATCH : TUTTI_ERR_PEER_LOST;
        all.push_back(Ring(rank, 3)
                          .add({.kind = kind(CallKind::Broadcast),
                                .sequence = 1,
                                .created = 5,
                                .completed = 5,
                                .op = 0,
                                .peer = rank == 1 ? 1 : 0})
                          .add({.sequence = 2, .created = 5, .completed = 4, .failed = status})
                          .recording());
    }
    expect(std::move(all), {1},
           "mismatched calls under #1 of group world: rank 1 called broadcast #1 (float32 × 100, "
           "root 1) and ranks 0 and 2 called broadcast #1 (float32 × 100, root 0); then "
           "all_reduce #2 of group world: it failed with PEER_LOST on ranks 1 and 2 4.0 s ago and "
           "with MISMATCH on rank 0 4.0 s ago");
}

void two_groups_are_crossed(void**) {
    Ring zero(0, 2);
    Ring one(1, 2);
    for (Ring* const ring : {&zero, &one}) {
        const int rank = ring == &zero ? 0 : 1;
        ring->group(2, "a", rank, 2, 0, 1).group(3, "b", rank, 2, 0, 1);
    }
    zero.add({.sequence = 1, .created = 5, .group = 2});
    one.add({.sequence = 1, .created = 5, .group = 3});
    expect({zero.recording(), one.recording()}, {0, 1},
           "ranks 0 and 1 wait for each other: rank 0 for rank 1 in all_reduce #1 of group a and "
           "rank 1 for rank 0 in all_reduce #1 of group b");
}

void three_ranks_wait_in_a_circle(void**) {
    std::vector<Recording> all;
    for (const int rank : {0, 1, 2}) {
        all.push_back(
            Ring(rank, 3)
                .add({.kind = kind(Kind::Receive), .created = 5, .peer = (rank + 1) % 3, .tag = 4})
                .recording());
    }
    expect(std::move(all), {0, 1, 2},
           "ranks 0, 1 and 2 wait in a circle: rank 0 for rank 1 in recv from rank 1 with tag 4 of "
           "group world, rank 1 for rank 2 in recv from rank 2 with tag 4 of group world and rank "
           "2 for rank 0 in recv from rank 0 with tag 4 of group world");
}

// Ranks 0 and 1 wait for rank 2, which waits for rank 3.
void who_waits_elsewhere_is_not_at_fault(void**) {
    std::vector<Recording> all;
    for (const int rank : {0, 1}) {
        all.push_back(Ring(rank, 4)
                          .group(2, "a", rank, 3)
                          .add({.sequence = 1, .created = 5, .group = 2})
                          .recording());
    }
    all.push_back(Ring(2, 4)
                      .group(2, "a", 2, 3)
                      .add({.kind = kind(Kind::Receive), .created = 6, .peer = 3})
                      .recording());
    all.push_back(Ring(3, 4).recording());
    const auto troubles = troubles_of(all, {});
    assert_int_equal(troubles.size(), 2);
    expect(std::move(all), {3},
           "recv from rank 3 of group world: rank 2 has waited 6.0 s; rank 3 is not sending it: it "
           "has made no call");
    assert_string_equal(troubles[1].sentence.c_str(),
                        "all_reduce #1 of group a: ranks 0 and 1 have waited 5.0 s; rank 2 is not "
                        "in it: it has been in recv from rank 3 of group world for 6.0 s");
    assert_true(troubles[1].ranks == std::vector<int>{3});
    assert_false(troubles[1].is_root);
}

void a_receive_has_another_tag(void**) {
    Ring zero(0, 2);
    zero.add({.kind = kind(Kind::Receive), .created = 5, .peer = 1, .tag = 7});
    Ring one(1, 2);
    one.add({.kind = kind(Kind::Send), .created = 5, .completed = 5, .peer = 0, .tag = 9});
    expect({zero.recording(), one.recording()}, {1},
           "recv from rank 1 with tag 7 of group world: rank 0 has waited 5.0 s; rank 1 is not "
           "sending it: its last call, send to rank 0 with tag 9, completed 5.0 s ago; rank 1 has "
           "sent it 1 with tag 9 that it does not receive");
}

void nobody_sends_to_any_source(void**) {
    Ring zero(0, 2);
    zero.add({.kind = kind(Kind::Receive), .created = 5});
    expect({zero.recording(), Ring(1, 2).all_reduces(2, 3).recording()}, {1},
           "recv from any rank of group world: rank 0 has waited 5.0 s; rank 1 is not sending to "
           "it: its last call, all_reduce #2, completed 3.0 s ago");
}

void nobody_receives(void**) {
    Ring zero(0, 2);
    zero.add({.kind = kind(Kind::Send), .created = 5, .peer = 1, .tag = 3});
    expect({zero.recording(), Ring(1, 2).recording(ProcessState::Ended)}, {1},
           "send to rank 1 with tag 3 of group world: rank 0 has waited 5.0 s; rank 1 is not "
           "receiving it: it has made no call; its process has ended");
}

void messages_were_lost(void**) {
    Ring zero(0, 2);
    zero.add({.kind = kind(Kind::Send), .created = 5, .completed = 5, .peer = 1, .tag = 3});
    Ring one(1, 2);
    one.head().exited = 1;
    one.slot(1).state = record::group_state::ended;
    expect({zero.recording(), one.recording(ProcessState::Ended)}, {1},
           "1 message from rank 0 to rank 1 with tag 3 of group world was never received");
}

void a_key_is_not_set(void**) {
    Ring zero(0, 2);
    zero.add({.kind = kind(Kind::StoreWait), .created = 5, .group = 0, .text = "ready"});
    expect({zero.recording(), Ring(1, 2).recording()}, {},
           "key \"ready\" of the store: rank 0 has waited 5.0 s, and nobody has set it");
}

void a_rank_does_not_come_to_the_first_meeting(void**) {
    Ring zero(0, 2);
    zero.slot(1).state = 0;
    zero.add({.kind = kind(Kind::InitGroup), .created = 5, .group = 0, .text = "world"});
    expect({zero.recording()}, {1},
           "init_process_group of group world: rank 0 has waited 5.0 s; rank 1 is not in it: it "
           "has left no record");
}

void a_rank_does_not_make_a_group(void**) {
    Ring zero(0, 2);
    zero.add({.kind = kind(Kind::SplitGroup), .created = 5, .text = "new_group"});
    expect({zero.recording(), Ring(1, 2).all_reduces(1, 4).recording()}, {1},
           "new_group of group world: rank 0 has waited 5.0 s; rank 1 is not in it: its last call, "
           "all_reduce #1, completed 4.0 s ago");
}

void a_rank_has_ended_the_group(void**) {
    Ring ring(2, 4);
    ring.all_reduces(16, 12.1);
    ring.slot(1).state = 2;
    ring.slot(1).ended = Ring::ticks(11);
    expect(with(three_wait(), ring.recording()), {2},
           "all_reduce #17 of group world: ranks 0, 1 and 3 have waited 12.3 s; rank 2 is not in "
           "it: its last call, #16, completed 12.1 s ago; it ended the group 11.0 s ago");
}

void a_rank_has_gone_on(void**) {  // a root need not wait for the others
    Ring zero(0, 3);
    zero.add({.kind = kind(CallKind::Broadcast),
              .sequence = 1,
              .created = 9,
              .completed = 9,
              .peer = 0})
        .add({.sequence = 2, .created = 8});
    Ring one(1, 3);
    one.add({.kind = kind(CallKind::Broadcast),
             .sequence = 1,
             .created = 9,
             .completed = 9,
             .peer = 0});
    Ring two(2, 3);
    two.add({.kind = kind(CallKind::Broadcast),
             .sequence = 1,
             .created = 9,
             .completed = 9,
             .peer = 0})
        .add({.sequence = 2, .created = 7});
    expect({zero.recording(), one.recording(), two.recording()}, {1},
           "all_reduce #2 of group world: ranks 0 and 2 have waited 8.0 s; rank 1 is not in it: "
           "its last call, broadcast #1, completed 9.0 s ago");
}

void many_ranks_are_named_in_runs(void**) {
    std::vector<Recording> all;
    for (int rank = 0; rank < 64; ++rank) {
        Ring ring(rank, 64);
        if (rank != 63 && rank != 7) ring.add({.sequence = 1, .created = 5});
        all.push_back(ring.recording());
    }
    expect(std::move(all), {7, 63},
           "all_reduce #1 of group world: ranks 0 to 6 and 8 to 62 have waited 5.0 s; ranks 7 and "
           "63 are not in it: each has made no call");
}

void all_are_in_it(void**) {
    auto all = three_wait();
    Ring ring(2, 4);
    ring.all_reduces(16, 12.5).add({.sequence = 17, .created = 8});
    expect(with(std::move(all), ring.recording()), {},
           "all_reduce #17 of group world: ranks 0, 1, 2 and 3 have been in it for 12.3 s, and all "
           "its ranks have come, the last 8.0 s ago");
}

void only_the_latest_process_of_a_rank_counts(void**) {
    auto all = three_wait();
    Ring old(2, 4);
    old.head().opened.ticks = old.head().opened.realtime_ns = Ring::ticks(2000);
    old.add({.sequence = 1, .created = 1900});
    all.push_back(old.recording(ProcessState::Ended));
    expect(with(std::move(all), Ring(2, 4).all_reduces(16, 12.1).recording()), {2},
           "all_reduce #17 of group world: ranks 0, 1 and 3 have waited 12.3 s; rank 2 is not in "
           "it: its last call, #16, completed 12.1 s ago");
}

void a_rank_that_nobody_waits_for_was_killed(void**) {
    expect(
        {Ring(0, 2).all_reduces(3, 1).recording(),
         Ring(1, 2).all_reduces(3, 1).recording(ProcessState::Ended)},
        {1},
        "rank 1: its last call, all_reduce #3 of group world, completed 1.0 s ago; it was killed "
        "by signal 11 (SIGSEGV)",
        {killed(1, SIGSEGV)});
}

void nothing_is_wrong(void**) {
    expect_none(
        {Ring(0, 2).all_reduces(3, 1).recording(), Ring(1, 2).all_reduces(3, 1).recording()});
    expect_none({Ring(0, 2).all_reduces(3, 1).add({.sequence = 4, .created = 0.3}).recording(),
                 Ring(1, 2).all_reduces(3, 1).recording()});
    Ring fine(0, 1);
    fine.head().exited = 1;
    expect_none({fine.recording(ProcessState::Ended)});
    expect_none({});
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_rank_is_in_its_own_code),
        TUTTI_TEST(a_rank_was_killed),
        TUTTI_TEST(a_rank_has_ended_and_nobody_knows_how),
        TUTTI_TEST(a_rank_ended_by_itself),
        TUTTI_TEST(a_rank_is_stopped),
        TUTTI_TEST(a_rank_is_stopped_in_the_call),
        TUTTI_TEST(a_rank_died_in_the_call),
        TUTTI_TEST(the_whole_job_was_ended),
        TUTTI_TEST(a_debugger_holds_a_rank),
        TUTTI_TEST(a_rank_left_no_record),
        TUTTI_TEST(the_last_call_was_another_one),
        TUTTI_TEST(all_failed_since_a_rank_died),
        TUTTI_TEST(a_call_timed_out),
        TUTTI_TEST(a_rank_ran_out_of_memory),
        TUTTI_TEST(a_rank_has_another_size),
        TUTTI_TEST(a_rank_has_another_dtype),
        TUTTI_TEST(a_rank_has_another_op),
        TUTTI_TEST(a_rank_is_in_another_call),
        TUTTI_TEST(ranks_have_other_roots),
        TUTTI_TEST(a_mismatch_was_reported),
        TUTTI_TEST(a_mismatch_is_seen_in_the_next_call),
        TUTTI_TEST(two_groups_are_crossed),
        TUTTI_TEST(three_ranks_wait_in_a_circle),
        TUTTI_TEST(who_waits_elsewhere_is_not_at_fault),
        TUTTI_TEST(a_receive_has_another_tag),
        TUTTI_TEST(nobody_sends_to_any_source),
        TUTTI_TEST(nobody_receives),
        TUTTI_TEST(messages_were_lost),
        TUTTI_TEST(a_key_is_not_set),
        TUTTI_TEST(a_rank_does_not_come_to_the_first_meeting),
        TUTTI_TEST(a_rank_does_not_make_a_group),
        TUTTI_TEST(a_rank_has_ended_the_group),
        TUTTI_TEST(a_rank_has_gone_on),
        TUTTI_TEST(many_ranks_are_named_in_runs),
        TUTTI_TEST(all_are_in_it),
        TUTTI_TEST(only_the_latest_process_of_a_rank_counts),
        TUTTI_TEST(a_rank_that_nobody_waits_for_was_killed),
        TUTTI_TEST(nothing_is_wrong),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
