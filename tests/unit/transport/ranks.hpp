// Ranks of one group in one process, over the channel that the argument of a suite names.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "membership/membership.hpp"
#include "membership/processes.hpp"
#include "membership/threads.hpp"
#include "store/store.hpp"
#include "support/unit.hpp"
#include "transport/channel.hpp"
#include "transport/gloo/gloo.hpp"
#include "transport/loopback/loopback.hpp"
#include "transport/tcp/tcp.hpp"

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

// A transport is a line here, and its name in tutti_channels of tests/CMakeLists.txt.
struct ChannelKind {
    const char* name;
    std::unique_ptr<Channel> (*open)(Membership&, const Deadline&);
    decltype(&bootstrap_threads) bootstrap;  // or bootstrap_processes
};
inline const ChannelKind& channel_kind() {
    static const std::array kinds{
        ChannelKind{"loopback",
                    [](Membership& membership, const Deadline& deadline) {
                        return loopback::open(membership, deadline, channel_name().c_str());
                    },
                    bootstrap_threads},
        ChannelKind{"gloo", gloo_channel::open, bootstrap_processes},
        ChannelKind{"tcp", tcp::open, bootstrap_processes},
    };
    // Ways of messages beside a channel (message/post_office.hpp).
    constexpr std::array ways{"shm", "shm_direct", "mixed"};
    const std::string& name = channel_name();
    if (name == "mixed_tcp") return kinds.back();
    if (std::ranges::find(ways, name) != ways.end()) return kinds.front();
    const auto found = std::ranges::find(kinds, name, &ChannelKind::name);
    require(found != kinds.end(), cat("there is no channel \"", name, "\" here"));
    return *found;
}

// A rank of a group that has nothing but a channel: what the membership tells goes there.
class ChannelRank final : public MembershipListener {
public:
    ChannelRank(const std::shared_ptr<Store>& store, int rank, int size) {
        std::vector<int> ranks;
        for (int one = 0; one < size; ++one) ranks.push_back(one);
        membership_ =
            std::make_unique<Membership>(bootstrap(store, rank, size), 0, std::move(ranks));
        channel_ = open();
        membership_->subscribe(*this);
    }
    ~ChannelRank() { membership_->unsubscribe(); }
    ChannelRank(const ChannelRank&) = delete;
    ChannelRank& operator=(const ChannelRank&) = delete;

    [[nodiscard]] Membership& membership() { return *membership_; }
    [[nodiscard]] Channel& channel() { return *channel_; }
    void leave() {
        if (std::exchange(has_left_, true)) return;
        channel_->leave();
        membership_->leave();
    }

private:
    // Alone, as groups do.
    std::unique_ptr<Channel> open() {
        if (membership_->size() == 1) return loopback::open(*membership_, ample());
        return channel_kind().open(*membership_, ample());
    }
    static std::shared_ptr<World> bootstrap(const std::shared_ptr<Store>& store, int rank,
                                            int size) {
        if (size == 1) return world_of_one();
        return channel_kind().bootstrap(store, rank, size, "", ample());
    }
    void failed(const Status& cause) noexcept override { channel_->abort(cause); }
    void left(int rank) noexcept override { channel_->left(rank); }

    std::unique_ptr<Membership> membership_;
    std::unique_ptr<Channel> channel_;
    bool has_left_ = false;
};

using ChannelRanks = std::vector<std::unique_ptr<ChannelRank>>;

inline ChannelRanks connect_all(int size) {
    ChannelRanks ranks(static_cast<size_t>(size));
    const auto store = make_hash_store();
    on_ranks(size, [&](int rank) {
        ranks[static_cast<size_t>(rank)] = std::make_unique<ChannelRank>(store, rank, size);
    });
    return ranks;
}

// A group whose ranks leave at the end.
class ChannelWorld {
public:
    explicit ChannelWorld(int size) : ranks_(connect_all(size)) {}
    ~ChannelWorld() {
        for (const auto& rank : ranks_) rank->leave();
    }
    ChannelWorld(const ChannelWorld&) = delete;
    ChannelWorld& operator=(const ChannelWorld&) = delete;

    [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
    Channel& operator[](int rank) { return ranks_[static_cast<size_t>(rank)]->channel(); }
    Membership& membership(int rank) { return ranks_[static_cast<size_t>(rank)]->membership(); }
    uint64_t next_sequence() { return ++sequence_; }
    void leave(int rank) { ranks_[static_cast<size_t>(rank)]->leave(); }

    // f(channel, number) on every rank, as one collective.
    template <typename Function>
    void together(Function&& function) {
        const uint64_t number = next_sequence();
        on_ranks(size(), [&](int rank) { function((*this)[rank], number); });
    }

private:
    ChannelRanks ranks_;
    uint64_t sequence_ = 0;
};

}  // namespace tutti::test
