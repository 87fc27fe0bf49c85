// Calls of TCP clients that are interrupted at a moment that the server chooses: nothing is lost,
// and the connections stay of use.
#include "script.hpp"
#include "support/limits.hpp"

namespace {

using namespace tutti::test;
using tutti::Deadline;
using tutti::Store;
using tutti::WaitLimit;
using Names = std::vector<std::string>;

constexpr tutti_status aborted = TUTTI_ERR_ABORTED;
const std::string cancel = "\x0C"s;
const std::string cancelled = "\x01"s;
const std::string check = "\x05"s + number(1) + text("/k");
const std::string wait = "\x06"s + number(1) + text("/k");
const std::string get = "\x03"s + text("/k");
const std::string pop = "\x0F"s + text("/k");
const std::string there = "\x00"s;
const std::string not_there = "\x01"s;
const std::pair<std::string, std::string> greeted_by_tutti = {
    greeting, "\x00"s + number(8192) + number(1 << 20) + number(1000)};

// The limit of a call that only an interruption ends.
class Endless {
public:
    explicit Endless(Store& store) : interruption_(store.interruption()) {}
    operator WaitLimit() const { return {Deadline::never(), interruption_.get()}; }

private:
    std::shared_ptr<tutti::Interruption> interruption_;
};

void a_wait_at_a_server_of_pytorch_is_called_off(void**) {
    Script server({{greeted, {check, not_there}, {check, not_there}},
                   {greeted, {wait, interrupting}, {cancel, cancelled}, {wait, there}}});
    const auto store = server.client();
    server.interrupts(*store);
    TUTTI_EXPECT_ERROR(store->wait(Names{"k"}, Endless(*store)), aborted,
                       "wait of key \"k\" at the TCP store ");
    store->wait(Names{"k"}, Endless(*store));  // on the same connections
    assert_true(server.played());
}

void a_get_that_is_interrupted_says_so(void**) {
    Script server({{greeted_by_tutti, {check + get, not_there + text("")}},
                   {greeted_by_tutti, {wait + get, interrupting}, {cancel, cancelled}}});
    const auto store = server.client();
    server.interrupts(*store);
    TUTTI_EXPECT_ERROR(store->get("k", Endless(*store)), aborted, "the wait was interrupted");
    assert_true(server.played());
}

// The answer to the wait and the calling off pass each other on the way.
void a_get_that_is_answered_while_it_is_called_off_leaves_its_connection_in_order(void**) {
    Script server({{greeted_by_tutti,
                    {check + get, not_there + text("")},
                    {check + get, not_there + text("")}},
                   {greeted_by_tutti,
                    {wait + get, interrupting},
                    {cancel, "\x00"s + text("first") + cancelled},
                    {wait + get, "\x00"s + text("second")}}});
    const auto store = server.client();
    server.interrupts(*store);
    TUTTI_EXPECT_ERROR(store->get("k", Endless(*store)), aborted, "the wait was interrupted");
    assert_string_equal(store->get("k", Endless(*store)).c_str(), "second");
    assert_true(server.played());
}

void a_pop_that_is_interrupted_has_taken_nothing(void**) {
    Script server({{greeted_by_tutti, {pop, number(0)}},
                   {greeted_by_tutti, {wait + pop, interrupting}, {cancel, cancelled}}});
    const auto store = server.client();
    server.interrupts(*store);
    TUTTI_EXPECT_ERROR(store->queue_pop("k", true, Endless(*store)), aborted, "interrupted");
    assert_true(server.played());
}

void a_value_that_was_popped_before_the_pop_is_called_off_is_not_lost(void**) {
    Script server({{greeted_by_tutti, {pop, number(0)}},
                   {greeted_by_tutti,
                    {wait + pop, interrupting},
                    {cancel, "\x00"s + number(1) + text("v") + cancelled}}});
    const auto store = server.client();
    server.interrupts(*store);
    assert_string_equal(store->queue_pop("k", true, Endless(*store)).c_str(), "v");
    assert_true(server.played());
}

void a_value_that_is_under_way_is_waited_for(void**) {
    const std::string probe = "\x10"s + text("/tutti/queue");
    Script server({{greeted, {pop, interrupting + number(1) + text("v")}, {pop, number(0)}},
                   {greeted,
                    {probe, number(0)},
                    {wait, there},
                    {pop, interrupting + number(1) + text("w")}}});
    const auto store = server.client();
    server.interrupts(*store);
    assert_string_equal(store->queue_pop("k", true, Endless(*store)).c_str(), "v");
    assert_string_equal(store->queue_pop("k", true, Endless(*store)).c_str(), "w");
    assert_true(server.played());
}

void a_server_that_does_not_answer_holds_up_no_interrupted_call(void**) {
    Script server({{greeted_by_tutti, {check, interrupting}}, {greeted_by_tutti, {check, there}}});
    const auto store = server.client();
    server.interrupts(*store);
    TUTTI_EXPECT_ERROR(store->wait(Names{"k"}, Endless(*store)), aborted, "interrupted");
    store->wait(Names{"k"}, Endless(*store));
    assert_true(server.played());
}

void connecting_is_interrupted(void**) {
    Script server({{greeted}, {{greeting, interrupting}}});
    const auto store = server.client();
    server.interrupts(*store);
    TUTTI_EXPECT_ERROR(store->clone(Endless(*store)), aborted, "clone at the TCP store ");
    assert_true(server.played());
}

void a_barrier_is_called_off(void**) {
    const std::string barrier = "\x12"s + text("/k") + number(2);
    Script server(
        {{greeted_by_tutti}, {greeted_by_tutti, {barrier, interrupting}, {cancel, cancelled}}});
    const auto store = server.client();
    server.interrupts(*store);
    TUTTI_EXPECT_ERROR(store->barrier("k", 2, Endless(*store)), aborted,
                       "barrier of key \"k\" at the TCP store ");
    assert_true(server.played());
}

void a_call_that_was_interrupted_before_it_began_asks_nothing(void**) {
    Script server({{greeted_by_tutti, {check, there}}});
    const auto store = server.client();
    const Endless limit(*store);
    store->interrupt();
    TUTTI_EXPECT_ERROR(store->wait(Names{"k"}, limit), aborted, "interrupted");
    TUTTI_EXPECT_ERROR(store->queue_pop("k", false, limit), aborted, "interrupted");
    store->wait(Names{"k"}, Endless(*store));
    assert_true(server.played());
}

// A descriptor wakes an interrupted call. Without one the connection is left as it is.
void a_call_that_nothing_could_wake_does_not_begin(void**) {
    Script server({{greeted_by_tutti, {check, there}}});
    const auto store = server.client();
    {
        const NoDescriptors none;
        TUTTI_EXPECT_ERROR(store->wait(Names{"k"}, Endless(*store)), TUTTI_ERR_OUT_OF_MEMORY,
                           "wait of key \"k\" at the TCP store ");
    }
    store->wait(Names{"k"}, Endless(*store));
    assert_true(server.played());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_wait_at_a_server_of_pytorch_is_called_off),
        TUTTI_TEST(a_get_that_is_interrupted_says_so),
        TUTTI_TEST(a_get_that_is_answered_while_it_is_called_off_leaves_its_connection_in_order),
        TUTTI_TEST(a_pop_that_is_interrupted_has_taken_nothing),
        TUTTI_TEST(a_value_that_was_popped_before_the_pop_is_called_off_is_not_lost),
        TUTTI_TEST(a_value_that_is_under_way_is_waited_for),
        TUTTI_TEST(a_server_that_does_not_answer_holds_up_no_interrupted_call),
        TUTTI_TEST(connecting_is_interrupted),
        TUTTI_TEST(a_barrier_is_called_off),
        TUTTI_TEST(a_call_that_was_interrupted_before_it_began_asks_nothing),
        TUTTI_TEST(a_call_that_nothing_could_wake_does_not_begin),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
