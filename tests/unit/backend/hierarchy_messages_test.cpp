// Do messages between ranks of one host stay on it, and do receives from any source take messages
// of the same host and of others? N ranks as threads, over channels that count.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "backends/hierarchy/hierarchy.hpp"
#include "backends/shm/bootstrap.hpp"
#include "unit/transport/ranks.hpp"
#include "unit/transport/watched_channel.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

// Counts the posts of messages, not those of collectives.
class CountingChannel final : public WatchedChannel {
public:
    CountingChannel(Channel& channel, Count& stalls, std::atomic<int>& posts)
        : WatchedChannel(channel, stalls), channel_(channel), posts_(posts) {}
    void post_send(Transfer& transfer, int peer, Slot slot, const void* data,
                   size_t bytes) override {
        count(slot);
        channel_.post_send(transfer, peer, slot, data, bytes);
    }
    void post_receive(Transfer& transfer, int peer, Slot slot, void* data, size_t bytes) override {
        count(slot);
        channel_.post_receive(transfer, peer, slot, data, bytes);
    }
    void post_receive_any(Transfer& transfer, Slot slot, void* data, size_t bytes) override {
        count(slot);
        channel_.post_receive_any(transfer, slot, data, bytes);
    }

private:
    void count(Slot slot) {
        const uint64_t of_messages =
            Slot::announcement(0).value() | (Slot::payload(0).value() & ~Slot::low);
        if ((slot.value() & of_messages) != 0) ++posts_;
    }
    Channel& channel_;
    std::atomic<int>& posts_;
};

// A group whose ranks 0 and 1 are taken to be on one host, and 2 and 3 on another.
class TwoHosts {
public:
    TwoHosts() : world_(size) {
        ::setenv("TUTTI_HOSTS", "0,0,1,1", 1);
        on_ranks(size, [&](int rank) {
            backends_[static_cast<size_t>(rank)] =
                hierarchy::make(std::make_unique<CountingChannel>(world_[rank], stalls_, posts_),
                                shm::bootstrap(world_.membership(rank), ample()));
        });
        ::unsetenv("TUTTI_HOSTS");
    }
    ~TwoHosts() {
        for (const auto& backend : backends_) backend->leave();
    }
    TwoHosts(const TwoHosts&) = delete;
    TwoHosts& operator=(const TwoHosts&) = delete;

    static constexpr int size = 4;
    Backend& operator[](int rank) { return *backends_[static_cast<size_t>(rank)]; }
    [[nodiscard]] int posts() const { return posts_; }

private:
    ChannelWorld world_;
    Count stalls_;
    std::atomic<int> posts_{0};
    std::array<std::unique_ptr<Backend>, size> backends_;
};

const std::vector<size_t> sizes{0, 8, 4064, 4097, 100'000, 3'000'001};

std::vector<uint8_t> pattern(size_t bytes, int rank) {
    std::vector<uint8_t> data(bytes);
    std::iota(data.begin(), data.end(), static_cast<uint8_t>(rank * 50));
    return data;
}

Send send_of(const std::vector<uint8_t>& data, int to, int tag) {
    return {{data.data(), static_cast<int64_t>(data.size()), TUTTI_UINT8}, to, tag};
}
Receive receive_of(std::vector<uint8_t>& data, int from, int tag) {
    return {{data.data(), static_cast<int64_t>(data.size()), TUTTI_UINT8}, from, tag};
}

// Every rank and the one at `distance` from it exchange messages of all sizes, here and now and in
// the background.
void exchange(TwoHosts& group, int distance) {
    on_ranks(TwoHosts::size, [&](int rank) {
        const int peer = rank ^ distance;
        for (const size_t size : sizes) {
            const auto mine = pattern(size, rank);
            std::vector<uint8_t> received(size);
            const auto sent = std::make_shared<Work>();
            group[rank].start(send_of(mine, peer, 1), ample(), sent);
            require(group[rank].receive(receive_of(received, peer, 1), ample()) == peer, "source");
            require(received == pattern(size, peer), cat(size, " bytes, received at once"));
            require(sent->wait(ample()) && sent->status()->ok(), "a send in the background");
            std::ranges::fill(received, uint8_t{0});
            const auto came = std::make_shared<Work>();
            group[rank].start(receive_of(received, peer, 2), ample(), came);
            group[rank].send(send_of(mine, peer, 2), ample());
            require(came->wait(ample()) && came->status()->ok(), "a receive in the background");
            require(received == pattern(size, peer), cat(size, " bytes, received in time"));
        }
    });
}

void messages_inside_a_host_post_nothing(void**) {
    TwoHosts group;
    assert_string_equal(group[0].name(), "hierarchy");
    exchange(group, 1);
    assert_int_equal(group.posts(), 0);
}

void messages_to_another_host_go_over_the_channel(void**) {
    TwoHosts group;
    exchange(group, 2);
    assert_true(group.posts() >= 2 * 2 * TwoHosts::size * static_cast<int>(sizes.size()));
}

void a_receive_from_any_takes_from_its_host_and_from_others(void**) {
    TwoHosts group;
    constexpr int count = 100;  // from each
    on_ranks(TwoHosts::size, [&](int rank) {
        for (int number = 0; rank > 0 && number < count; ++number) {
            const size_t size = number % 10 == 0 ? 50'000 : 16;
            group[rank].send(send_of(pattern(size, rank + number), 0, number % 10 == 0), ample());
        }
        std::array<int, TwoHosts::size> next{};
        for (int index = 0; rank == 0 && index < (TwoHosts::size - 1) * count; ++index) {
            // Each sender's turn is the same, so the long ones of all come together.
            const bool is_long = index % (10 * (TwoHosts::size - 1)) < TwoHosts::size - 1;
            std::vector<uint8_t> received(is_long ? 50'000 : 16);
            const int source = group[0].receive(receive_of(received, any_source, is_long), ample());
            int& number = next[static_cast<size_t>(source)];
            require(received == pattern(received.size(), source + number), "the data, in order");
            ++number;
        }
    });
}

// A receive from any rank that has asked the channel does not keep one of the same host waiting.
void a_message_of_the_host_comes_while_the_channel_is_asked(void**) {
    TwoHosts group;
    std::vector<uint8_t> first(8);
    std::vector<uint8_t> second(8);
    const auto any = std::make_shared<Work>();
    const auto one = std::make_shared<Work>();
    group[0].start(receive_of(first, any_source, 0), ample(), any);
    group[0].start(receive_of(second, 2, 0), ample(), one);
    on_ranks(2, [&](int index) {
        const int rank = index + 1;
        if (rank == 2) require(any->wait(ample()), "the message of the host");
        group[rank].send(send_of(pattern(8, rank), 0, 0), ample());
    });
    assert_true(any->wait(ample()) && one->wait(ample()));
    assert_int_equal(any->source_rank(), 1);
    assert_true(first == pattern(8, 1));
    assert_int_equal(one->source_rank(), 2);
    assert_true(second == pattern(8, 2));
}

}  // namespace

int main(int count, char** arguments) {
    choose_channel(count, arguments);
    const CMUnitTest tests[] = {
        TUTTI_TEST(messages_inside_a_host_post_nothing),
        TUTTI_TEST(messages_to_another_host_go_over_the_channel),
        TUTTI_TEST(a_receive_from_any_takes_from_its_host_and_from_others),
        TUTTI_TEST(a_message_of_the_host_comes_while_the_channel_is_asked),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
