// The server of a TCP store and three clients that may say anything, cut anywhere, and leave in the
// middle: it ends each connection that is at its end, and goes on serving.
// Input: a byte whose bit i is set if client i does not greet; then for each move a byte, client +
// 3 * length, and so many bytes to send; the largest length is that the client hangs up instead.
#include <sys/socket.h>

#include <array>

#include "base/error.hpp"
#include "input.hpp"
#include "net/socket.hpp"
#include "store/protocol.hpp"
#include "store/store.hpp"

namespace {

using tutti::Deadline;
using tutti::net::Socket;
using tutti::protocol::Query;
using tutti::protocol::Writer;

constexpr size_t clients = 3;
constexpr size_t hang_up = 255 / clients;
constexpr uint32_t nonce = 0x01020304;

// libFuzzer ends a run that hangs.
Deadline ample() {
    return Deadline::never();
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

class Client {
public:
    Client(int port, bool greets) : socket_(Socket::connect({"127.0.0.1", port}, ample())) {
        // No connection is left behind in TIME_WAIT: there are thousands a second.
        const linger reset = {1, 0};
        ::setsockopt(socket_.descriptor(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        if (greets)
            say(bytes_of(
                Writer(Query::Validate).number32(tutti::protocol::validation_magic).take()));
    }

    void say(std::span<const std::byte> bytes) {
        try {
            if (socket_.valid()) socket_.send_all(bytes, ample());
        } catch (const tutti::Error&) {
            socket_.close();  // the server has hung up
        }
    }
    void leave() { socket_.close(); }
    // The server reads to the end of what was said, answers, and hangs up.
    void finish() {
        if (!socket_.valid()) return;
        ::shutdown(socket_.descriptor(), SHUT_WR);
        try {
            std::array<std::byte, 4096> answers;
            while (socket_.recv_some(answers, ample()) > 0) {
            }
        } catch (const tutti::Error&) {
            // It hung up before it had read all.
        }
    }
    void expect_service() {
        const std::string ping = Writer(Query::Ping).number32(nonce).take();
        say(bytes_of(ping));
        std::array<std::byte, 4> answer{};
        socket_.recv_all(answer, ample());
        FUZZ_EXPECT(std::equal(answer.begin(), answer.end(), bytes_of(ping).begin() + 1));
    }

private:
    Socket socket_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    tutti::fuzz::Input input(data, size);
    const auto server = tutti::make_store_server("127.0.0.1", 0);
    const uint8_t silent = input.byte();
    Client clients_here[clients] = {{server->port(), (silent & 1) == 0},
                                    {server->port(), (silent & 2) == 0},
                                    {server->port(), (silent & 4) == 0}};
    while (!input.empty()) {
        const uint8_t move = input.byte();
        Client& client = clients_here[move % clients];
        if (move / clients == hang_up)
            client.leave();
        else
            client.say(input.bytes(move / clients));
    }
    for (Client& client : clients_here) client.finish();
    Client(server->port(), true).expect_service();
    return 0;
}
