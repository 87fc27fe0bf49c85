// Ranks of one group in one process, over loopback or over Gloo: one suite for every channel.
#pragma once

#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/channel.hpp"
#include "backend/gloo/gloo.hpp"
#include "backend/loopback/loopback.hpp"
#include "base/error.hpp"
#include "store/store.hpp"
#include "support/unit.hpp"

namespace tutti::test {

// Which channel the suite runs over; set once, by main.
inline std::string& channel_name() {
    static std::string name = "loopback";
    return name;
}

inline void choose_channel(int count, char** arguments) {
    if (count > 1) channel_name() = arguments[1];
    // A busy machine must not look like a stopped rank.
    ::setenv("TUTTI_HEARTBEAT_TIMEOUT_MS", "0", 1);
    print_message("over %s\n", channel_name().c_str());
}

inline Deadline ample() {
    return Deadline::after_ms(60'000);
}

// What a thread that is not the test's says instead of asserting.
inline void require(bool condition, const std::string& what) {
    if (!condition) throw std::runtime_error(what);
}

// Runs f(rank) for every rank on a thread of its own; throws what the first of them threw.
template <typename Function>
void on_ranks(int size, Function&& function) {
    std::vector<std::exception_ptr> thrown(static_cast<size_t>(size));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) {
        threads.emplace_back([&, rank] {
            try {
                function(rank);
            } catch (...) {
                thrown[static_cast<size_t>(rank)] = std::current_exception();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (int rank = 0; rank < size; ++rank) {
        try {
            if (thrown[static_cast<size_t>(rank)])
                std::rethrow_exception(thrown[static_cast<size_t>(rank)]);
        } catch (const std::exception& exception) {
            throw std::runtime_error(cat("rank ", rank, ": ", exception.what()));
        }
    }
}

inline std::unique_ptr<Channel> connect(const std::shared_ptr<Store>& store, int rank, int size) {
    if (size == 1) return loopback::alone(channel_name().c_str());  // as the registry does
    return channel_name() == "gloo" ? gloo_channel::connect(store, rank, size, ample())
                                    : loopback::connect(*store, rank, size, ample());
}

using Channels = std::vector<std::unique_ptr<Channel>>;

inline Channels connect_all(int size) {
    Channels channels(static_cast<size_t>(size));
    const auto store = make_hash_store();
    on_ranks(size,
             [&](int rank) { channels[static_cast<size_t>(rank)] = connect(store, rank, size); });
    return channels;
}

// A group whose ranks leave at the end.
class World {
public:
    explicit World(int size) : channels_(connect_all(size)) {}
    ~World() {
        for (const auto& channel : channels_) channel->leave();
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    [[nodiscard]] int size() const { return static_cast<int>(channels_.size()); }
    Channel& operator[](int rank) { return *channels_[static_cast<size_t>(rank)]; }
    uint64_t next_number() { return ++number_; }

    // f(channel, number) on every rank, as one collective.
    template <typename Function>
    void together(Function&& function) {
        const uint64_t number = next_number();
        on_ranks(size(), [&](int rank) { function((*this)[rank], number); });
    }

private:
    Channels channels_;
    uint64_t number_ = 0;
};

}  // namespace tutti::test
