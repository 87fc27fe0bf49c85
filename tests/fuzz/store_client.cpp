// The client of a TCP store and a server that may answer anything: every call ends, with an answer
// or an Error.
// Input: a byte n and n bytes of calls; then, for each connection that the client opens, a byte and
// a byte, length and whether the server hangs up behind it, and so many bytes that it sends.
#include <sys/socket.h>

#include <array>
#include <thread>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "input.hpp"
#include "net/socket.hpp"
#include "store/store.hpp"

namespace {

using tutti::Deadline;
using tutti::Lock;
using tutti::Mutex;
using tutti::net::ListenSocket;
using tutti::net::Socket;

// Answers whatever connects with the next piece of the script. Its thread only accepts.
class LyingServer {
public:
    LyingServer()
        : listener_(ListenSocket::bind("127.0.0.1", 0, 64)), thread_([this] { serve(); }) {}

    [[nodiscard]] int port() const { return listener_.port(); }
    // A client that connected for an earlier script, and was late, gets a piece of this one.
    void start(std::span<const std::byte> script) {
        const Lock lock(mutex_);
        connections_.clear();
        script_.assign(script.begin(), script.end());
        left_ = {reinterpret_cast<const uint8_t*>(script_.data()), script_.size()};
    }

private:
    void serve() {
        while (true) {
            Socket socket = listener_.accept(Deadline::never());
            const linger reset = {1, 0};
            ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
            const Lock lock(mutex_);
            const size_t length = left_.byte();
            const bool stays = left_.byte() % 8 == 1;
            try {
                socket.send_all(left_.bytes(length), Deadline::never());
            } catch (const tutti::Error&) {
                // The client has given up.
            }
            if (!stays) ::shutdown(socket.descriptor(), SHUT_WR);
            connections_.push_back(std::move(socket));
        }
    }

    Mutex mutex_;
    std::vector<std::byte> script_ TUTTI_GUARDED_BY(mutex_);
    tutti::fuzz::Input left_ TUTTI_GUARDED_BY(mutex_) = {nullptr, 0};  // of script_
    std::vector<Socket> connections_ TUTTI_GUARDED_BY(mutex_);
    ListenSocket listener_;
    std::thread thread_;  // never ends; the process does
};

// Long enough for an answer that is there, short for a server that says nothing.
Deadline brief() {
    return Deadline::after_ms(3);
}

void call(tutti::Store& store, uint8_t which) {
    const std::string key = "k";
    const std::vector<std::string> keys = {"k", "l"};
    const std::vector<std::pair<std::string, std::string>> pairs = {{"k", "v"}, {"l", ""}};
    switch (which % 17) {
        case 0:
            return store.set(key, "value", brief());
        case 1:
            return (void)store.get(key, brief());
        case 2:
            return (void)store.add(key, 1, brief());
        case 3:
            return store.append(key, "value", brief());
        case 4:
            return (void)store.check(keys, brief());
        case 5:
            return store.wait(keys, brief());
        case 6:
            return (void)store.compare_set(key, "old", "new", brief());
        case 7:
            return (void)store.delete_key(key, brief());
        case 8:
            FUZZ_EXPECT(store.multi_get(keys, brief()).size() == keys.size());
            return;
        case 9:
            return store.multi_set(pairs, brief());
        case 10:
            return (void)store.num_keys(brief());
        case 11:
            return store.queue_push(key, "value", brief());
        case 12:
            return (void)store.queue_pop(key, false, brief());
        case 13:
            return (void)store.queue_pop(key, true, brief());
        case 14:
            return (void)store.queue_len(key, brief());
        case 15:
            return (void)store.list_keys(brief());
        default:
            return store.barrier(key, 2, brief());
    }
}

// The client refuses by itself what exceeds the limits that the server told.
void expect_named(const tutti::Error& error) {
    if (error.status().code == TUTTI_ERR_INVALID_ARGUMENT) return;
    FUZZ_EXPECT(error.status().message.find("127.0.0.1") != std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static LyingServer& server = *new LyingServer;
    tutti::fuzz::Input input(data, size);
    const auto calls = input.bytes(input.byte() % 16);
    server.start(input.rest());
    tutti::TcpStoreOptions options;
    options.host = "127.0.0.1";
    options.port = server.port();
    options.wait_for_workers = false;
    options.timeout_ms = 20;
    try {
        const auto store = tutti::make_tcp_store(options);
        for (const std::byte which : calls) {
            try {
                call(*store, std::to_integer<uint8_t>(which));
            } catch (const tutti::Error& error) {
                expect_named(error);
            }
        }
    } catch (const tutti::Error& error) {
        expect_named(error);
    }
    return 0;
}
