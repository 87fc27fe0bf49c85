// The result of a flush of a TCP store's handle: whether all that was sent without an answer
// arrived.
#include "script.hpp"

namespace {

using namespace tutti::test;
using tutti::cat;
using tutti::Deadline;

const std::string set = "\x01"s + text("/k") + text("v");
// Asked for an answer's sake, which is one of two.
const std::string question = "\x05"s + number(1) + text("init/");
const std::string count = "\x07"s;

Deadline soon() {
    return Deadline::after_ms(50);
}

std::shared_ptr<tutti::Store> client_at(int port) {
    tutti::TcpStoreOptions options;
    options.host = "127.0.0.1";
    options.port = port;
    options.timeout_ms = 60'000;
    return tutti::make_tcp_store(options);
}

void a_flush_asks_only_if_something_was_sent(void**) {
    Script server(
        {{greeted, {set + question, "\x01"s}, {set + count, number(1)}, {count, number(1)}}});
    const auto store = server.client();
    store->flush(ample());
    store->set("k", "v", ample());
    store->flush(ample());
    store->flush(ample());
    store->set("k", "v", ample());
    assert_int_equal(store->num_keys(ample()), 1);  // its answer tells as much
    store->flush(ample());
    assert_int_equal(store->num_keys(ample()), 1);
    assert_true(server.played());
}

void a_flush_that_times_out_can_be_taken_up_again(void**) {
    Script server({{greeted, {set + question, ""}, {question, "\x01\x01"}, {count, number(1)}}});
    const auto store = server.client();
    store->set("k", "v", ample());
    TUTTI_EXPECT_ERROR(store->flush(soon()), TUTTI_ERR_TIMEOUT, "flush at the TCP store ");
    store->flush(ample());
    assert_int_equal(store->num_keys(ample()), 1);
    assert_true(server.played());
}

void an_answer_that_a_flush_did_not_wait_for_is_no_other_calls(void**) {
    Script server({{greeted, {set + question, ""}, {set + count, "\x00"s + number(7)}}});
    const auto store = server.client();
    store->set("k", "v", ample());
    TUTTI_EXPECT_ERROR(store->flush(soon()), TUTTI_ERR_TIMEOUT, "timed out");
    store->set("k", "v", ample());
    assert_int_equal(store->num_keys(ample()), 7);
    assert_true(server.played());
}

void what_the_server_refused_is_reported_once(void**) {
    const auto server = tutti::make_store_server("127.0.0.1", 0, {.memory_bytes = 200'000});
    const auto store = client_at(server->port());
    store->set("small", "v", ample());
    store->set("large", std::string(300'000, 'x'), ample());
    TUTTI_EXPECT_ERROR(store->flush(ample()), TUTTI_ERR_STORE,
                       "set of key \"large\" may be lost, and 1 more before it");
    store->flush(ample());
    assert_string_equal(store->get("small", ample()).c_str(), "v");
    store->set("large", std::string(300'000, 'x'), ample());
    TUTTI_EXPECT_ERROR(store->flush(ample()), TUTTI_ERR_STORE, "refused a request: ");
}

void what_another_call_has_found_lost_is_still_a_flushs_to_tell(void**) {
    const auto server = tutti::make_store_server("127.0.0.1", 0, {.memory_bytes = 200'000});
    const auto store = client_at(server->port());
    store->set("large", std::string(300'000, 'x'), ample());
    TUTTI_EXPECT_ERROR(store->add("n", 1, ample()), TUTTI_ERR_STORE, "an earlier set of key");
    assert_int_equal(store->add("n", 1, ample()), 1);
    TUTTI_EXPECT_ERROR(store->flush(ample()), TUTTI_ERR_STORE, "set of key \"large\" may be lost");
    store->flush(ample());
}

void a_call_that_timed_out_loses_nothing_that_was_sent_before(void**) {
    Script server({{greeted, {set + count, late + number(1)}}, {greeted, {count, number(2)}}});
    const auto store = server.client();
    store->set("k", "v", ample());
    TUTTI_EXPECT_ERROR(store->num_keys(soon()), TUTTI_ERR_TIMEOUT, "num_keys");
    TUTTI_EXPECT_ERROR(store->flush(soon()), TUTTI_ERR_TIMEOUT, "flush");
    // It does not overtake what was sent before.
    TUTTI_EXPECT_ERROR(store->num_keys(soon()), TUTTI_ERR_TIMEOUT, "num_keys");
    server.release();
    store->flush(ample());
    assert_int_equal(store->num_keys(ample()), 2);
    assert_true(server.played());
}

void a_call_waits_for_what_one_that_timed_out_has_left(void**) {
    Script server({{greeted, {set + count, late + number(1)}}, {greeted, {count, number(2)}}});
    const auto store = server.client();
    store->set("k", "v", ample());
    TUTTI_EXPECT_ERROR(store->num_keys(soon()), TUTTI_ERR_TIMEOUT, "num_keys");
    server.release();
    assert_int_equal(store->num_keys(ample()), 2);
    store->flush(ample());
    assert_true(server.played());
}

void a_server_that_ends_before_a_late_answer_may_lose_what_was_sent_before(void**) {
    Script server({{greeted, {set + count, late + hang_up}}, {greeted, {count, number(1)}}});
    const auto store = server.client();
    store->set("k", "v", ample());
    TUTTI_EXPECT_ERROR(store->num_keys(soon()), TUTTI_ERR_TIMEOUT, "num_keys");
    server.release();
    TUTTI_EXPECT_ERROR(store->num_keys(ample()), TUTTI_ERR_STORE, "set of key \"k\" may be lost");
    assert_int_equal(store->num_keys(ample()), 1);
    TUTTI_EXPECT_ERROR(store->flush(ample()), TUTTI_ERR_STORE, "set of key \"k\" may be lost");
    assert_true(server.played());
}

void the_late_answer_to_a_flush_confirms_nothing_that_was_sent_after_it(void**) {
    Script server({{greeted, {set + question, ""}, {set + count, late + "\x01"s}, {"", hang_up}},
                   {greeted, {count, number(2)}}});
    const auto store = server.client();
    store->set("k", "v", ample());
    TUTTI_EXPECT_ERROR(store->flush(soon()), TUTTI_ERR_TIMEOUT, "flush");
    store->set("k", "v", ample());
    TUTTI_EXPECT_ERROR(store->num_keys(soon()), TUTTI_ERR_TIMEOUT, "num_keys");
    server.release();
    TUTTI_EXPECT_ERROR(store->num_keys(ample()), TUTTI_ERR_STORE, "set of key \"k\" may be lost");
    assert_int_equal(store->num_keys(ample()), 2);
    TUTTI_EXPECT_ERROR(store->flush(ample()), TUTTI_ERR_STORE, "set of key \"k\" may be lost");
    assert_true(server.played());
}

void the_end_of_the_server_is_reported(void**) {
    auto server = tutti::make_store_server("127.0.0.1", 0);
    const auto store = client_at(server->port());
    const auto prefixed = tutti::make_prefix_store("p", store);
    prefixed->set("k", "v", ample());
    server.reset();
    TUTTI_EXPECT_ERROR(prefixed->flush(ample()), TUTTI_ERR_STORE, "set of key \"p/k\" may be lost");
    store->flush(ample());  // nothing is outstanding
}

void a_flush_is_interrupted(void**) {
    Script server({{greeted, {set + question, interrupting}, {question, "\x01\x01"}}});
    const auto store = server.client();
    server.interrupts(*store);
    store->set("k", "v", ample());
    const auto interruption = store->interruption();
    TUTTI_EXPECT_ERROR(store->flush({Deadline::never(), interruption.get()}), TUTTI_ERR_ABORTED,
                       "flush at the TCP store ");
    store->flush(ample());
    assert_true(server.played());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_flush_asks_only_if_something_was_sent),
        TUTTI_TEST(a_flush_that_times_out_can_be_taken_up_again),
        TUTTI_TEST(an_answer_that_a_flush_did_not_wait_for_is_no_other_calls),
        TUTTI_TEST(what_the_server_refused_is_reported_once),
        TUTTI_TEST(what_another_call_has_found_lost_is_still_a_flushs_to_tell),
        TUTTI_TEST(a_call_that_timed_out_loses_nothing_that_was_sent_before),
        TUTTI_TEST(a_call_waits_for_what_one_that_timed_out_has_left),
        TUTTI_TEST(a_server_that_ends_before_a_late_answer_may_lose_what_was_sent_before),
        TUTTI_TEST(the_late_answer_to_a_flush_confirms_nothing_that_was_sent_after_it),
        TUTTI_TEST(the_end_of_the_server_is_reported),
        TUTTI_TEST(a_flush_is_interrupted),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
