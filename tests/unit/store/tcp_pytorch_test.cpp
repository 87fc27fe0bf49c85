// The client at servers of PyTorch, which are not tutti's and must be asked one thing at a time:
// byte for byte, and what older ones do not know.
#include <thread>

#include "script.hpp"

namespace {

using namespace tutti::test;
using tutti::net::ListenSocket;
using Names = std::vector<std::string>;
void several_values_are_asked_for_one_thing_at_a_time(void**) {
    const std::string keys = number(2) + text("/k") + text("/l");
    const std::string values = text("v") + text("w");
    Script server(
        {{greeted, {"\x05"s + keys, "\x00"s}, {"\x0A"s + keys, values}, {"\x05"s + keys, "\x01"s}},
         {greeted, {"\x06"s + keys, "\x00"s}, {"\x0A"s + keys, values}}});
    const auto store = server.client();
    for (int round = 0; round < 2; ++round)  // they are there; they must be waited for
        assert_true((store->multi_get(Names{"k", "l"}, ample()) == Names{"v", "w"}));
    assert_true(server.played());
}

void no_keys_are_not_asked_for(void**) {
    Script server({{greeted}});
    const auto store = server.client();
    assert_true(store->check(Names{}, ample()));
    store->wait(Names{}, ample());
    assert_true(store->multi_get(Names{}, ample()).empty());
    assert_true(server.played());
}

void one_value_is_asked_for_and_read_in_one_exchange(void**) {
    ListenSocket listener = ListenSocket::bind("127.0.0.1", 0, 8);
    bool well = true;
    std::thread server([&] {
        const auto read = [](Socket& socket, size_t size) {
            std::string got(size, '\0');
            socket.recv_all(std::as_writable_bytes(std::span(got)), ample());
            return got;
        };
        const auto write = [](Socket& socket, const std::string& bytes) {
            socket.send_all(std::as_bytes(std::span(bytes)), ample());
        };
        Socket command = listener.accept(ample());
        well = well && comes(command, greeting);
        write(command, "\x01"s);
        const std::string swap = "\x02"s + text("/k");
        for (const bool there : {true, false}) {
            well = well && read(command, swap.size()) == swap;
            const std::string expected = read(command, 8 + 38);
            well = well && expected.substr(0, 8) == number(38) && read(command, 46) == expected;
            write(command, there ? text("v") : expected);
        }
        Socket waits = listener.accept(ample());
        well = well && comes(waits, greeting);
        write(waits, "\x01"s);
        const std::string wait = "\x06"s + number(1) + text("/k");
        well = well && read(waits, wait.size()) == wait;
        write(waits, "\x00"s);
        const std::string get = "\x03"s + text("/k");
        well = well && read(waits, get.size()) == get;
        write(waits, text("w"));
    });
    tutti::TcpStoreOptions options;
    options.host = "127.0.0.1";
    options.port = listener.port();
    const auto store = tutti::make_tcp_store(options);
    const std::string there = store->get("k", ample());
    const std::string waited_for = store->get("k", ample());
    server.join();
    assert_true(well);
    assert_string_equal(there.c_str(), "v");
    assert_string_equal(waited_for.c_str(), "w");
}

// Asked for an answer's sake, which is one of two.
const std::string question = "\x05"s + number(1) + text("init/");

void a_barrier_is_fenced_from_what_was_written_before(void**) {
    const std::string set = "\x01"s + text("/k") + text("v");
    Script server({{greeted, {set + question, "\x01"s}},
                   {greeted, {"\x12"s + text("/b") + number(2), "\x00"s}}});
    const auto store = server.client();
    store->set("k", "v", ample());
    store->barrier("b", 2, ample());
    assert_true(server.played());
}

void keys_are_listed_without_those_that_are_not_callers(void**) {
    Script server(
        {{greeted}, {greeted, {"\x11"s, number(3) + text("/a") + text("init/") + text("/b/c")}}});
    const auto store = server.client();
    assert_true((store->list_keys(ample()) == Names{"a", "b/c"}));
    assert_true(server.played());
}

void what_an_older_server_hangs_up_on_is_unsupported(void**) {
    // After each, another connection shows that the server lives; the next one uses that.
    Script server({{greeted, {"\x07"s, number(5)}},
                   {greeted, {"\x11"s, hang_up}},
                   {greeted, {"\x12"s + text("/b") + number(2), hang_up}},
                   {greeted},
                   {greeted, {"\x10"s + text("/tutti/queue"), hang_up}},
                   {greeted}});
    const auto store = server.client();
    const tutti_status status = TUTTI_ERR_UNSUPPORTED;
    TUTTI_EXPECT_ERROR(store->list_keys(ample()), status, "list_keys at the TCP store 127.0.0.1");
    TUTTI_EXPECT_ERROR(store->barrier("b", 2, ample()), status, "barrier of key \"b\"");
    TUTTI_EXPECT_ERROR(store->queue_push("q", "v", ample()), status, "queue_push of key \"q\"");
    TUTTI_EXPECT_ERROR(store->queue_pop("q", true, ample()), status, "queue_pop of key \"q\"");
    TUTTI_EXPECT_ERROR(store->queue_len("q", ample()), status, "queue_len of key \"q\"");
    assert_int_equal(store->num_keys(ample()), 5);
    assert_true(server.played());
}

void queues_work_at_a_server_that_has_them(void**) {
    const std::string wait = "\x06"s + number(1) + text("/q");
    const std::string pop = "\x0F"s + text("/q");
    Script server({{greeted,
                    {"\x0E"s + text("/q") + text("v") + "\x10"s + text("/q"), number(1)},
                    {pop, number(1) + text("v")},
                    {pop, number(0)},
                    {pop, number(0)}},
                   // The question whether there are queues, then the waiting pop. Another was
                   // faster once.
                   {greeted,
                    {"\x10"s + text("/tutti/queue"), number(0)},
                    {wait, "\x00"s},
                    {pop, number(0)},
                    {wait, "\x00"s},
                    {pop, number(2) + text("w")}}});
    const auto store = server.client();
    store->queue_push("q", "v", ample());
    assert_int_equal(store->queue_len("q", ample()), 1);
    assert_string_equal(store->queue_pop("q", true, ample()).c_str(), "v");
    TUTTI_EXPECT_ERROR(store->queue_pop("q", false, ample()), TUTTI_ERR_QUEUE_EMPTY, "q\"");
    assert_string_equal(store->queue_pop("q", true, ample()).c_str(), "w");
    assert_true(server.played());
}

// The server over libuv has queues and takes 8 MiB; the other has neither queues nor that limit.
void large_values_are_kept_from_servers_that_do_not_take_them(void**) {
    const std::string probe = "\x10"s + text("/tutti/queue");
    const std::string large((8 << 20) + 1, 'x');
    Script with({{greeted}, {greeted, {probe, number(0)}}});
    TUTTI_EXPECT_ERROR(with.client()->set("k", large, ample()), TUTTI_ERR_INVALID_ARGUMENT,
                       "at most 8388608 ");
    assert_true(with.played());
    Script without({{greeted, {"\x01"s + text("/k") + text(large) + "\x07"s, number(1)}},
                    {greeted, {probe, hang_up}},
                    {greeted}});
    const auto store = without.client();
    store->set("k", large, ample());
    assert_int_equal(store->num_keys(ample()), 1);
    assert_true(without.played());
}

void who_listens_and_hangs_up_is_tried_again(void**) {
    Script server({{{greeting, hang_up}}, {{greeting, hang_up}}, {greeted, {"\x07"s, number(5)}}});
    assert_int_equal(server.client()->num_keys(ample()), 5);
    assert_true(server.played());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(several_values_are_asked_for_one_thing_at_a_time),
        TUTTI_TEST(no_keys_are_not_asked_for),
        TUTTI_TEST(one_value_is_asked_for_and_read_in_one_exchange),
        TUTTI_TEST(a_barrier_is_fenced_from_what_was_written_before),
        TUTTI_TEST(keys_are_listed_without_those_that_are_not_callers),
        TUTTI_TEST(what_an_older_server_hangs_up_on_is_unsupported),
        TUTTI_TEST(queues_work_at_a_server_that_has_them),
        TUTTI_TEST(large_values_are_kept_from_servers_that_do_not_take_them),
        TUTTI_TEST(who_listens_and_hangs_up_is_tried_again),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
