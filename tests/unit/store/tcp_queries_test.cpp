// The newer queries, 14 to 18, byte for byte. LIST_KEYS and BARRIER were captured from PyTorch
// 2.14; the queues' bytes are as its source documents them, and unverified against a running one:
// Debian's has no queues.
#include "raw_client.hpp"

namespace {

using namespace tutti::test;

const std::string wait_for_queue = "\x06"s + number(1) + text("/q");
const std::string pop_queue = "\x0F"s + text("/q");

std::string push(const std::string& value) {
    return "\x0E"s + text("/q") + text(value);
}

// Two clients beside the fixture's own, which have said hello with these bytes.
struct Three : Fixture {
    Socket first, second;
    explicit Three(const std::string& hello) {
        for (Socket* other : {&first, &second}) {
            *other = connect();
            with(*other, [&] {
                send(hello);
                if (hello != validate) receive(greeting_answer_bytes);
            });
        }
        send(validate);
    }
    template <typename Act>
    void with(Socket& other, Act&& act) {
        std::swap(socket, other);
        act();
        std::swap(socket, other);
    }
    // All that this client has sent so far has been dealt with.
    void settle(Socket& other) {
        with(other, [&] { expect_nothing_more(); });
    }
};

void queues_are_answered_byte_for_byte(void**) {
    Fixture f;
    f.send(validate + "\x10"s + text("/q"));
    f.expect(number(0));
    f.send(pop_queue);
    f.expect(number(0));
    f.send(push("one") + push(""));
    f.send("\x10"s + text("/q"));
    f.expect(number(2));
    f.send("\x05"s + number(1) + text("/q") + wait_for_queue);
    f.expect("\x00\x00"s);
    f.send(pop_queue + pop_queue + pop_queue);
    f.expect(number(2) + text("one") + number(1) + text("") + number(0));
    f.send("\x05"s + number(1) + text("/q"));
    f.expect("\x01"s);
    f.send(push("x") + "\x07"s + "\x03"s + text("/q") + "\x08"s + text("/q"));
    f.expect(number(0) + text("") + number(1));
    f.expect_nothing_more();
}

void keys_are_listed_as_they_are_on_the_wire(void**) {
    Fixture f;
    f.send(validate + "\x11"s);
    f.expect(number(0));
    f.send("\x01"s + text("/key") + text("v") + "\x11"s);
    f.expect(number(1) + text("/key"));
    f.send("\x08"s + text("/key") + "\x04"s + text("init/") + number(1) + push("x") + "\x11"s);
    f.expect(number(1) + number(1) + number(1) + text("init/"));
    f.expect_nothing_more();
}

void a_barrier_counts_in_its_key_and_is_answered_at_the_last(void**) {
    Three f(validate);
    const std::string come = "\x12"s + text("/b") + number(3);
    f.with(f.first, [&] { f.send(come); });
    f.with(f.second, [&] { f.send(come); });
    f.send("\x06"s + number(1) + text("/b"));
    f.expect("\x00"s);
    f.send(come);
    f.expect("\x00"s);
    for (Socket* other : {&f.first, &f.second}) f.with(*other, [&] { f.expect("\x00"s); });
    f.send("\x03"s + text("/b") + come);
    f.expect(text("3") + "\x00"s);
    f.expect_nothing_more();
}

void a_barrier_can_be_called_off_and_has_been_counted(void**) {
    Three f(validate);
    f.with(f.first, [&] {
        f.send("\x12"s + text("/b") + number(2) + "\x0C"s);
        f.expect("\x01"s);
    });
    f.send("\x12"s + text("/b") + number(2));
    f.expect("\x00"s);
    f.settle(f.first);
    f.expect_nothing_more();
}

void other_counting_in_a_barriers_key_ends_it_too(void**) {
    Three f(validate);
    f.with(f.first, [&] { f.send("\x12"s + text("/b") + number(3)); });
    f.send("\x06"s + number(1) + text("/b"));
    f.expect("\x00"s);
    f.send("\x04"s + text("/b") + number(2));
    f.expect(number(3));
    f.with(f.first, [&] { f.expect("\x00"s); });
}

// Their pop comes in a message of its own, and nobody else may take the value before.
void one_client_of_pytorch_is_woken_for_each_value(void**) {
    Three f(validate);
    for (Socket* other : {&f.first, &f.second}) {
        f.with(*other, [&] {
            f.send("\x0D\x01\x02\x03\x04"s + wait_for_queue);
            f.expect("\x01\x02\x03\x04"s);
        });
    }
    f.send(push("a"));
    f.expect_nothing_more();
    f.with(f.first, [&] { f.expect("\x00"s); });
    assert_false(f.second.readable());
    f.send(push("b"));
    f.with(f.second, [&] {
        f.expect("\x00"s);
        f.send(pop_queue);
        f.expect(number(2) + text("a"));
    });
    f.with(f.first, [&] {
        f.send(pop_queue);
        f.expect(number(1) + text("b"));
    });
}

void a_pop_behind_a_wait_is_answered_with_it_and_a_bare_wait_takes_nothing(void**) {
    Three f(greeting_of("me"));
    for (Socket* other : {&f.first, &f.second})  // in this order
        f.with(*other, [&] {
            f.send("\x0D\x01\x02\x03\x04"s + wait_for_queue + pop_queue);
            f.expect("\x01\x02\x03\x04"s);
        });
    Socket bare = f.connect();
    f.with(bare, [&] {
        f.send(greeting_of("bare") + wait_for_queue);
        f.receive(greeting_answer_bytes);
    });
    f.send(push("a"));
    f.expect_nothing_more();
    f.with(f.first, [&] { f.expect("\x00"s + number(1) + text("a")); });
    assert_false(f.second.readable());
    f.send(push("b") + push("c"));
    f.with(f.second, [&] { f.expect("\x00"s + number(1) + text("b")); });
    f.with(bare, [&] { f.expect("\x00"s); });
    f.send(pop_queue);
    f.expect(number(1) + text("c"));
    for (Socket* other : {&f.first, &f.second, &bare}) f.settle(*other);
}

void a_popper_that_leaves_takes_nothing(void**) {
    Three f(greeting_of("me"));
    f.with(f.first, [&] {
        f.send("\x0D\x01\x02\x03\x04"s + wait_for_queue + pop_queue);
        f.expect("\x01\x02\x03\x04"s);
        f.send("\x0C"s);
        f.expect("\x01"s);
    });
    f.with(f.second, [&] {
        f.send("\x0D\x01\x02\x03\x04"s + wait_for_queue + pop_queue);
        f.expect("\x01\x02\x03\x04"s);
        f.send("not the protocol");
        assert_true(f.is_closed());
    });
    f.send(push("a") + pop_queue);
    f.expect(number(1) + text("a"));
    f.expect_nothing_more();
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(queues_are_answered_byte_for_byte),
        TUTTI_TEST(keys_are_listed_as_they_are_on_the_wire),
        TUTTI_TEST(a_barrier_counts_in_its_key_and_is_answered_at_the_last),
        TUTTI_TEST(a_barrier_can_be_called_off_and_has_been_counted),
        TUTTI_TEST(other_counting_in_a_barriers_key_ends_it_too),
        TUTTI_TEST(one_client_of_pytorch_is_woken_for_each_value),
        TUTTI_TEST(a_pop_behind_a_wait_is_answered_with_it_and_a_bare_wait_takes_nothing),
        TUTTI_TEST(a_popper_that_leaves_takes_nothing),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
