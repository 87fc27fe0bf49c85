// Streams and listeners on a loop, with blocking sockets at the other end.
#include "net/stream.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <future>
#include <list>
#include <optional>

#include "net/descriptor.hpp"
#include "net/socket.hpp"
#include "support/unit.hpp"

namespace {

using tutti::Deadline;
using tutti::Status;
using tutti::net::Listener;
using tutti::net::ListenSocket;
using tutti::net::Loop;
using tutti::net::Socket;
using tutti::net::Stream;

Deadline ample() {
    return Deadline::after_ms(60'000);
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string receive(Socket& socket, size_t size) {
    std::string text(size, '\0');
    socket.recv_all(std::as_writable_bytes(std::span(text)), ample());
    return text;
}

// A loop with one stream; the test holds the other end.
struct Fixture {
    Fixture() {
        ListenSocket listener = ListenSocket::bind("127.0.0.1", 0, 8);
        far = Socket::connect({"127.0.0.1", listener.port()}, ample());
        near = listener.accept(ample());
    }
    ~Fixture() {
        loop.run([this] { stream.reset(); });
    }
    void adopt(Stream::Events events) {
        loop.run([&] { stream = Stream::adopt(loop, near.release(), std::move(events)); });
    }
    Loop loop{"test"};
    Socket far;
    Socket near;
    std::unique_ptr<Stream> stream;
};

void a_stream_reads_and_writes(void**) {
    Fixture fixture;
    fixture.adopt({[&](auto bytes) { fixture.stream->write(text_of(bytes) + "!"); }, {}});
    fixture.far.send_all(bytes_of("hello"), ample());
    assert_string_equal(receive(fixture.far, 6).c_str(), "hello!");
}

bool is_kept_alive(int fd) {
    int after_s = 0;
    int is_on = 0;
    socklen_t size = sizeof is_on;
    getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &is_on, &size);
    getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &after_s, &size);
    return is_on != 0 && after_s <= 10;
}

// The two ends have different addresses, as those on two hosts have.
void the_kernel_keeps_connections_between_hosts_alive(void**) {
    const ListenSocket listener = ListenSocket::bind("127.0.0.2", 0, 8);
    Socket near = Socket::connect({"127.0.0.2", listener.port()}, ample());
    const Socket far = listener.accept(ample());
    assert_true(is_kept_alive(near.descriptor()));
    assert_true(is_kept_alive(far.descriptor()));
    // As an accepted descriptor comes to a stream.
    const int off = 0;
    setsockopt(near.descriptor(), SOL_SOCKET, SO_KEEPALIVE, &off, sizeof off);
    Loop loop("test");
    int descriptor = -1;
    loop.run([&] {
        const auto stream =
            Stream::adopt(loop, near.release(), {[](auto) {}, [](const Status&) {}});
        descriptor = stream->release();
    });
    const tutti::net::Descriptor same(descriptor);
    assert_true(is_kept_alive(same.get()));
}

void a_stream_takes_no_more_than_its_owner_wants(void**) {
    Fixture fixture;
    std::string heard;
    std::promise<int> taken;
    fixture.loop.run([&] {
        fixture.stream = Stream::adopt(fixture.loop, fixture.near.release(),
                                       {[&](auto bytes) {
                                            heard += text_of(bytes);
                                            if (heard.size() < 5) return;
                                            taken.set_value(fixture.stream->release());
                                        },
                                        {}});
        fixture.stream->read_at_most(5);
    });
    fixture.far.send_all(bytes_of("hel"), ample());
    fixture.far.send_all(bytes_of("lo and goodbye"), ample());
    Socket next(taken.get_future().get());
    assert_string_equal(heard.c_str(), "hello");
    assert_string_equal(receive(next, 12).c_str(), " and goodbye");
}

void end_of_file_is_told_once(void**) {
    Fixture fixture;
    std::promise<Status> closed;
    fixture.adopt({[](auto) {}, [&](const Status& status) { closed.set_value(status); }});
    fixture.far.close();
    const Status status = closed.get_future().get();
    assert_int_equal(status.code, TUTTI_ERR_NETWORK);
    assert_string_equal(status.message.c_str(), "the peer closed the connection");
}

void a_reset_is_told_with_its_errno(void**) {
    Fixture fixture;
    std::promise<Status> closed;
    fixture.adopt({[](auto) {}, [&](const Status& status) { closed.set_value(status); }});
    const linger at_once = {1, 0};
    setsockopt(fixture.far.descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    fixture.far.close();
    assert_int_equal(closed.get_future().get().system_errno, ECONNRESET);
}

void a_stream_may_be_destroyed_from_its_data_callback(void**) {
    Fixture fixture;
    std::promise<void> done;
    fixture.adopt({[&](auto) {
                       fixture.stream->write("never mind");
                       fixture.stream.reset();
                       done.set_value();
                   },
                   [](const Status&) { std::abort(); }});
    fixture.far.send_all(bytes_of("x"), ample());
    done.get_future().wait();
    fixture.far.close();
}

void a_stream_may_be_destroyed_from_its_closed_callback(void**) {
    Fixture fixture;
    std::promise<void> done;
    fixture.adopt({[](auto) {},
                   [&](const Status&) {
                       fixture.stream.reset();
                       done.set_value();
                   }});
    fixture.far.close();
    done.get_future().wait();
}

void what_the_kernel_does_not_take_is_queued_and_arrives_in_order(void**) {
    Fixture fixture;
    fixture.adopt({[](auto) {}, [](const Status&) {}});
    std::string expected;
    size_t queued = 0;
    fixture.loop.run([&] {
        for (char letter = 'a'; letter <= 'z'; ++letter) {
            const std::string piece(1 << 20, letter);
            expected += piece;
            fixture.stream->write(piece);
        }
        queued = fixture.stream->queued();
    });
    assert_true(queued > 0);
    assert_true(receive(fixture.far, expected.size()) == expected);
    // The last write's completion follows its last byte: ask until the loop has seen it.
    while (queued > 0) fixture.loop.run([&] { queued = fixture.stream->queued(); });
}

void a_write_to_a_peer_that_is_gone_ends_in_closed(void**) {
    Fixture fixture;
    std::promise<Status> closed;
    fixture.adopt({[](auto) {}, [&](const Status& status) { closed.set_value(status); }});
    size_t queued = 0;
    fixture.loop.run([&] {
        fixture.stream->pause_reading();  // so that the write is what finds out
        for (int i = 0; i < 64; ++i) fixture.stream->write(std::string(1 << 20, 'x'));
        queued = fixture.stream->queued();
    });
    assert_true(queued > 0);
    fixture.far.close();
    while (queued > 0) fixture.loop.run([&] { queued = fixture.stream->queued(); });
    fixture.loop.run([&] { fixture.stream->resume_reading(); });
    assert_int_equal(closed.get_future().get().code, TUTTI_ERR_NETWORK);
}

void what_a_peer_sent_before_it_left_is_read_though_a_write_failed(void**) {
    Fixture fixture;
    std::string got;
    std::promise<void> closed;
    fixture.adopt(
        {[&](auto bytes) { got += text_of(bytes); }, [&](const Status&) { closed.set_value(); }});
    size_t queued = 0;
    fixture.loop.run([&] {
        fixture.stream->pause_reading();
        fixture.far.send_all(bytes_of("last words"), ample());
        for (int i = 0; i < 64; ++i) fixture.stream->write(std::string(1 << 20, 'x'));
        queued = fixture.stream->queued();
    });
    assert_true(queued > 0);
    fixture.far.close();
    while (queued > 0) fixture.loop.run([&] { queued = fixture.stream->queued(); });
    fixture.loop.run([&] { fixture.stream->resume_reading(); });
    closed.get_future().wait();
    assert_string_equal(got.c_str(), "last words");
}

void a_paused_stream_reads_nothing_until_it_is_resumed(void**) {
    Fixture fixture;
    std::promise<std::string> got;
    bool resumed = false;
    fixture.adopt({[&](auto bytes) { got.set_value(resumed ? text_of(bytes) : "too early"); },
                   [](const Status&) {}});
    fixture.loop.run([&] { fixture.stream->pause_reading(); });
    fixture.far.send_all(bytes_of("late"), ample());
    for (int i = 0; i < 100; ++i) fixture.loop.run([] {});  // the loop polls between tasks
    fixture.loop.run([&] {
        resumed = true;
        fixture.stream->resume_reading();
    });
    assert_string_equal(got.get_future().get().c_str(), "late");
}

void a_listener_accepts_on_every_socket(void**) {
    std::vector<ListenSocket> sockets;
    sockets.push_back(ListenSocket::bind("127.0.0.1", 0, 8));
    sockets.push_back(ListenSocket::bind("127.0.0.1", 0, 8));
    const std::array<int, 2> ports = {sockets[0].port(), sockets[1].port()};
    Loop loop("test");
    std::list<std::unique_ptr<Stream>> streams;
    std::unique_ptr<Listener> listener;
    loop.run([&] {
        listener = std::make_unique<Listener>(
            loop, std::vector<int>{sockets[0].release(), sockets[1].release()}, [&](int fd) {
                streams.push_back(Stream::adopt(loop, fd, {[](auto) {}, [](const Status&) {}}));
                streams.back()->write("welcome");
            });
    });
    for (const int port : ports) {
        Socket socket = Socket::connect({"127.0.0.1", port}, ample());
        assert_string_equal(receive(socket, 7).c_str(), "welcome");
    }
    loop.run([&] {
        listener.reset();
        streams.clear();
    });
    TUTTI_EXPECT_ERROR(Socket::connect({"127.0.0.1", ports[0]}, Deadline::after_ms(0)),
                       TUTTI_ERR_NETWORK, "ECONNREFUSED");
}

void a_listener_may_be_destroyed_from_its_callback(void**) {
    ListenSocket socket = ListenSocket::bind("127.0.0.1", 0, 8);
    const int port = socket.port();
    Loop loop("test");
    std::promise<Socket> accepted;
    std::unique_ptr<Listener> listener;
    loop.run([&] {
        listener =
            std::make_unique<Listener>(loop, std::vector<int>{socket.release()}, [&](int fd) {
                listener.reset();
                accepted.set_value(Socket(fd));
            });
    });
    const Socket near = Socket::connect({"127.0.0.1", port}, ample());
    assert_true(accepted.get_future().get().valid());
}

void a_listener_survives_a_full_descriptor_table(void**) {
    ListenSocket socket = ListenSocket::bind("127.0.0.1", 0, 8);
    const int port = socket.port();
    Loop loop("test");
    std::promise<Socket> accepted;
    std::unique_ptr<Listener> listener;
    loop.run([&] {
        listener = std::make_unique<Listener>(loop, std::vector<int>{socket.release()},
                                              [&](int fd) { accepted.set_value(Socket(fd)); });
    });
    Socket near;
    rlimit before{};
    loop.run([&] {
        // Connected while the loop is busy here; then the table is full when it gets to accept.
        near = Socket::connect({"127.0.0.1", port}, ample());
        getrlimit(RLIMIT_NOFILE, &before);
        const rlimit none = {3, before.rlim_max};
        setrlimit(RLIMIT_NOFILE, &none);
    });
    std::future<Socket> result = accepted.get_future();
    for (int i = 0; i < 10; ++i) loop.run([] {});
    const bool too_early = result.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    setrlimit(RLIMIT_NOFILE, &before);
    assert_false(too_early);
    assert_true(result.get().valid());
    loop.run([&] { listener.reset(); });
}

void streams_that_outlive_their_loop_are_harmless(void**) {
    ListenSocket listener = ListenSocket::bind("127.0.0.1", 0, 8);
    const Socket far = Socket::connect({"127.0.0.1", listener.port()}, ample());
    std::unique_ptr<Stream> stream;
    {
        Loop loop("test");
        loop.run([&] {
            stream = Stream::adopt(loop, listener.accept(ample()).release(),
                                   {[](auto) {}, [](const Status&) {}});
            stream->write(std::string(64 << 20, 'x'));
        });
    }
    assert_int_equal(stream->queued(), 0);
    stream->write("nobody is there");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_stream_reads_and_writes),
        TUTTI_TEST(the_kernel_keeps_connections_between_hosts_alive),
        TUTTI_TEST(a_stream_takes_no_more_than_its_owner_wants),
        TUTTI_TEST(end_of_file_is_told_once),
        TUTTI_TEST(a_reset_is_told_with_its_errno),
        TUTTI_TEST(a_stream_may_be_destroyed_from_its_data_callback),
        TUTTI_TEST(a_stream_may_be_destroyed_from_its_closed_callback),
        TUTTI_TEST(what_the_kernel_does_not_take_is_queued_and_arrives_in_order),
        TUTTI_TEST(a_write_to_a_peer_that_is_gone_ends_in_closed),
        TUTTI_TEST(what_a_peer_sent_before_it_left_is_read_though_a_write_failed),
        TUTTI_TEST(a_paused_stream_reads_nothing_until_it_is_resumed),
        TUTTI_TEST(a_listener_accepts_on_every_socket),
        TUTTI_TEST(a_listener_may_be_destroyed_from_its_callback),
        TUTTI_TEST(a_listener_survives_a_full_descriptor_table),
        TUTTI_TEST(streams_that_outlive_their_loop_are_harmless),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
