// Are records read right, and bad ones refused with a sentence? One thread.
#include "trace/recording.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "record/place.hpp"
#include "record/recorder.hpp"
#include "rings.hpp"
#include "support/unit.hpp"
#include "trace/diagnosis.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;
using trace::BadRecord;
using trace::Recording;

void expect_bad(Ring& ring, size_t size, const std::string& why) {
    std::string message;
    try {
        (void)trace::parse_recording(ring.bytes(), size, "x.ring", clock_of_tests());
    } catch (const BadRecord& error) {
        message = error.what();
    }
    const std::string wanted = "x.ring is no record that can be read: " + why;
    assert_string_equal(message.c_str(), wanted.c_str());
}

void values_are_read(void**) {
    Ring ring(3, 4);
    ring.add({.kind = kind(CallKind::Broadcast),
              .sequence = 5,
              .created = 3,
              .completed = 1,
              .is_in_background = true,
              .peer = 2,
              .tag = 9,
              .text = "loss"});
    const Recording one = ring.recording();
    assert_int_equal(one.rank, 3);
    assert_int_equal(one.world_size, 4);
    assert_int_equal(one.calls.size(), 1);
    const trace::Call& call = one.calls[0];
    assert_int_equal(call.sequence, 5);
    assert_int_equal(call.created, now - 3 * second);
    assert_int_equal(call.started, now - 3 * second);
    assert_int_equal(call.completed, now - second);
    assert_int_equal(call.peer, 2);
    assert_int_equal(call.tag, 9);
    assert_string_equal(call.text.c_str(), "loss");
    assert_true(call.is_in_background() && call.is_collective() && !call.is_open());
    assert_string_equal(one.group_of(call).name.c_str(), "world");
    assert_true(one.group_of(call).ranks == (std::vector<int>{0, 1, 2, 3}));
}

void a_call_that_waited_starts_when_the_one_before_it_ends(void**) {
    Ring ring(0, 1);
    ring.add({.sequence = 1, .created = 9, .completed = 4})
        .add({.sequence = 2, .created = 8, .completed = 3})
        .add({.sequence = 3, .created = 7, .is_scheduled = true});
    const Recording one = ring.recording();
    assert_int_equal(one.calls[1].started, now - 4 * second);
    assert_int_equal(one.calls[2].started, 0);
}

void a_counter_is_turned_into_time(void**) {
    Ring ring(0, 1);
    ring.add({.sequence = 1, .created = 1});
    record::Head& head = ring.head();
    head.is_counter = 1;
    head.opened.ticks = 1000;
    head.opened.realtime_ns = static_cast<uint64_t>(now);
    head.later.ticks = 2000;
    head.later.realtime_ns = static_cast<uint64_t>(now + 500);
    ring.entry(1).word[record::field::created] = 4000;
    assert_int_equal(ring.recording().calls[0].created, now + 1500);
}

void overwritten_calls_are_missing(void**) {
    Ring ring(0, 1, 8);
    ring.all_reduces(20, 1);
    const Recording one = ring.recording();
    assert_int_equal(one.calls.size(), 8);
    assert_int_equal(one.calls.front().sequence, 13);
    assert_false(one.is_complete);
}

void a_call_that_is_being_written_is_missing(void**) {
    Ring ring(0, 1);
    ring.all_reduces(2, 1);
    ring.entry(2).word[record::field::id_and_state] = 2 << 8;
    assert_int_equal(ring.recording().calls.size(), 1);
}

void a_slot_that_was_another_groups_is_not_believed(void**) {
    Ring ring(0, 1);
    ring.add({.sequence = 1, .created = 950, .completed = 940});
    assert_int_equal(ring.recording().calls[0].group, 0);
}

void bad_files_are_refused(void**) {
    Ring ring(0, 1);
    expect_bad(ring, 100, "it has 96 bytes, fewer than a head has");
    expect_bad(ring, 0, "it has 0 bytes, fewer than a head has");
    expect_bad(ring, 8192, "it has 8192 of 45056 bytes");
    ring.head().entries = 63;
    expect_bad(ring, ring.size(), "its ring of 63 calls is no power of two up to 4194304");
    ring.head().entries = uint64_t{1} << 62;
    expect_bad(ring, ring.size(),
               "its ring of 4611686018427387904 calls is no power of two up to 4194304");
    ring.head().version = 2;
    expect_bad(ring, ring.size(), "it has version 2, where this program knows 1");
    ring.head().magic = 0;
    expect_bad(ring, ring.size(), "its process has not finished making it");
    ring.head().magic = 5;
    expect_bad(ring, ring.size(), "it does not begin as one does");
}

void a_place_that_is_no_file_is_refused(void**) {
    std::string message;
    try {
        (void)trace::read_recording("/proc/self/no/such.ring", clock_of_tests());
    } catch (const BadRecord& error) {
        message = error.what();
    }
    assert_string_equal(message.c_str(),
                        "cannot open /proc/self/no/such.ring: No such file or directory (ENOENT)");
    try {
        (void)trace::read_recording("/dev/null", clock_of_tests());
    } catch (const BadRecord& error) {
        message = error.what();
    }
    assert_string_equal(message.c_str(),
                        "/dev/null is no record that can be read: it is no regular file");
}

void a_file_is_read_and_its_process_lives(void**) {
    Ring ring(0, 1);
    ring.add({.sequence = 1, .created = 2});
    const trace::Clock clock = trace::Clock::now();
    std::ifstream stat("/proc/self/stat");
    std::string word;
    for (int i = 0; i < 22; ++i) stat >> word;
    ring.head().pid = static_cast<uint64_t>(::getpid());
    ring.head().boot = clock.boot;
    ring.head().process_start = std::stoull(word);
    std::snprintf(ring.head().host, sizeof ring.head().host, "%s", clock.host.c_str());
    char name[] = "/tmp/trace-test-XXXXXX";
    const int file = ::mkstemp(name);
    const auto read_now = [&] {
        assert_int_equal(::pwrite(file, ring.bytes(), ring.size(), 0), ring.size());
        return trace::read_recording(name, clock);
    };
    const Recording mine = read_now();
    ring.head().process_start = 1;
    const Recording other = read_now();
    ::close(file);
    ::unlink(name);
    assert_true(mine.process == trace::ProcessState::Running);
    assert_int_equal(mine.calls.size(), 1);
    assert_true(other.process == trace::ProcessState::Ended);
}

void this_process_reads_its_own_record(void**) {
    char folder[] = "/tmp/trace-test-XXXXXX";
    assert_non_null(::mkdtemp(folder));
    ::setenv(record::folder_variable, folder, 1);
    record::turn_on(0, 1);
    record::Call call({.kind = kind(CallKind::Barrier), .text = "mine"}, record::state::started);
    const trace::Clock clock = trace::Clock::now();
    const Recording mine = trace::own_recording(clock);
    ::unlink(record::path().c_str());
    ::rmdir(folder);
    call.completed();
    assert_true(mine.process == trace::ProcessState::Running);
    assert_int_equal(mine.calls.size(), 1);
    assert_string_equal(mine.calls[0].text.c_str(), "mine");
    assert_true(mine.calls[0].is_open());
    assert_true(mine.calls[0].created <= clock.realtime + second / 100);
    assert_true(mine.calls[0].created > clock.realtime - 100 * second);
}

// Whatever the bytes are, nothing crashes, and what is said is text.
void damaged_rings_do_no_harm(void**) {
    uint64_t state = 42;
    const auto random = [&] {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return state >> 24;
    };
    for (int round = 0; round < 300; ++round) {
        std::vector<Recording> all;
        for (int rank = 0; rank < 3; ++rank) {
            Ring ring(rank, 3, 32);
            ring.group(2, "a", rank, 3).all_reduces(3, 5).add({.sequence = 4, .created = 5});
            ring.add({.kind = kind(record::Kind::Receive), .created = 5, .peer = 1});
            const size_t damages = random() % 40;
            for (size_t i = 0; i < damages; ++i) {
                const bool is_in_head = random() % 3 == 0;
                const size_t at = 24 + random() % (is_in_head ? 5000 : ring.size() - 24);
                ring.bytes()[at] = static_cast<char>(random());
            }
            all.push_back(ring.recording());
        }
        for (const auto& trouble : trace::diagnose(trace::make_job(std::move(all), {}))) {
            for (const char byte : trouble.sentence) assert_true(byte >= ' ' || byte < 0);
        }
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(values_are_read),
        TUTTI_TEST(a_call_that_waited_starts_when_the_one_before_it_ends),
        TUTTI_TEST(a_counter_is_turned_into_time),
        TUTTI_TEST(overwritten_calls_are_missing),
        TUTTI_TEST(a_call_that_is_being_written_is_missing),
        TUTTI_TEST(a_slot_that_was_another_groups_is_not_believed),
        TUTTI_TEST(bad_files_are_refused),
        TUTTI_TEST(a_place_that_is_no_file_is_refused),
        TUTTI_TEST(a_file_is_read_and_its_process_lives),
        TUTTI_TEST(this_process_reads_its_own_record),
        TUTTI_TEST(damaged_rings_do_no_harm),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
