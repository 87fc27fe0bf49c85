// A server that plays a part: it expects requests byte for byte and has its answers written down.
// It passes for a server of PyTorch, or for one of tutti if it answers the greeting as those do.
#pragma once

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "raw_client.hpp"

namespace tutti::test {

// The expected request, and the answer.
using Dialogue = std::vector<std::pair<std::string, std::string>>;

// "Hang up" as an answer.
const std::string hang_up = "hang up";
// As the beginning of an answer: the client is interrupted, and then answered.
const std::string interrupting = "interrupt:";
// As the beginning of an answer: it comes when the test lets it.
const std::string late = "late:";
// The name is another each time, of 32 bytes.
const std::string any_name(32, '?');
const std::string greeting = greeting_of(any_name);
const std::pair<std::string, std::string> greeted = {greeting, "\x01"s};

// Reads a request; whether it is the one that was expected.
inline bool comes(Socket& socket, const std::string& expected) {
    std::string got(expected.size(), '\0');
    socket.recv_all(std::as_writable_bytes(std::span(got)), ample());
    if (expected == greeting) got.replace(got.size() - any_name.size(), any_name.size(), any_name);
    return got == expected;
}

// Plays one dialogue for each connection, in the order in which they come. A request that is not
// as expected ends that connection, so the client's call fails.
class Script {
public:
    explicit Script(std::vector<Dialogue> dialogues)
        : dialogues_(std::move(dialogues)), thread_([this] { play(); }) {}
    ~Script() {
        if (thread_.joinable()) thread_.join();
    }
    std::shared_ptr<Store> client() {
        TcpStoreOptions options;
        options.host = "127.0.0.1";
        options.port = listener_.port();
        options.timeout_ms = 60'000;
        return make_tcp_store(options);
    }
    // The store that `interrupting` interrupts.
    void interrupts(Store& store) { interrupted_ = &store; }
    // The one answer that is late may come.
    void release() { release_.set_value(); }
    // Until all dialogues are over, whether all were as expected.
    bool played() {
        thread_.join();
        return as_expected_;
    }

private:
    void play() {
        std::vector<std::thread> threads;
        std::vector<Socket> open(dialogues_.size());
        for (size_t i = 0; i < dialogues_.size(); ++i) {
            open[i] = listener_.accept(ample());
            threads.emplace_back([this, i, &open] {
                try {
                    if (!answer(open[i], dialogues_[i])) as_expected_ = false;
                } catch (const Error&) {
                    as_expected_ = false;
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
    }

    bool answer(Socket& socket, const Dialogue& dialogue) {
        for (const auto& [request, answer] : dialogue) {
            // Nothing may have been sent ahead of the answer.
            if (!comes(socket, request) || socket.readable()) {
                socket.close();
                return false;
            }
            std::string_view text = answer;
            if (text.starts_with(late)) {
                release_.get_future().wait();
                text.remove_prefix(late.size());
            }
            if (text == hang_up) {
                socket.close();
                continue;
            }
            if (text.starts_with(interrupting)) {
                interrupted_.load()->interrupt();
                text.remove_prefix(interrupting.size());
            }
            socket.send_all(std::as_bytes(std::span(text)), ample());
        }
        return true;
    }

    net::ListenSocket listener_ = net::ListenSocket::bind("127.0.0.1", 0, 8);
    std::vector<Dialogue> dialogues_;
    std::atomic<bool> as_expected_{true};
    std::atomic<Store*> interrupted_{nullptr};
    std::promise<void> release_;
    std::thread thread_;  // the last member: it uses the others
};

}  // namespace tutti::test
