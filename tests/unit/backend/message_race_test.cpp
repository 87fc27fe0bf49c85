// Do messages, deadlines, aborts and the end of a group get along on many threads at once? Random
// traffic; the seed is printed, the sanitizers are the judges, and no wait may go on for ever.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>

#include "post_office.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

uint32_t seed() {
    static const uint32_t chosen = [] {
        const char* given = std::getenv("TUTTI_TEST_SEED");
        return given != nullptr ? static_cast<uint32_t>(std::strtoul(given, nullptr, 10))
                                : std::random_device()();
    }();
    return chosen;
}

class Random {
public:
    explicit Random(int salt) : generator_(seed() + static_cast<uint32_t>(salt)) {}
    int below(int limit) { return static_cast<int>(generator_() % static_cast<uint32_t>(limit)); }

private:
    std::mt19937 generator_;
};

// Every number that was sent is received once, whoever asks.
void many_threads_lose_no_message(void**) {
    constexpr int threads_each = 3;
    constexpr int each = 400;
    PostOffice office(2);
    std::atomic<int64_t> sum{0};
    on_ranks(2 * threads_each, [&](int thread) {
        const bool sends = thread % 2 == 0;
        for (int index = 0; index < each; ++index) {
            // 4 bytes of number, twice as many threads as tags.
            const int tag = thread / 2 % 2;
            const size_t bytes = index % 20 == 0 ? 20'000 : 4;
            std::vector<std::byte> data(bytes);
            const int number = thread * each + index;
            if (sends) {
                std::memcpy(data.data(), &number, sizeof number);
                expect_gone(office.send(0, 1, tag, std::move(data)), "a send");
            } else {
                const auto received = office.receive(1, index % 2 == 0 ? 0 : -1, tag, bytes);
                const Status status = received.end();
                // Threads of one tag may take each other's long and short messages.
                require(status.ok() || status.code == TUTTI_ERR_MISMATCH, status.message);
                int got = 0;
                std::memcpy(&got, received.data.data(), sizeof got);
                if (status.ok()) sum += 1;
            }
        }
    });
    assert_true(sum > 0);
}

// Deadlines of about the time a message takes: every work ends, memory goes at once.
void deadlines_meet_messages(void**) {
    constexpr int each = 150;
    PostOffice office(2);
    on_ranks(4, [&](int thread) {
        Random random(thread);
        for (int index = 0; index < each; ++index) {
            const int from = thread % 2;
            const int to = random.below(4) == 0 ? from : 1 - from;
            const size_t bytes = random.below(2) == 0 ? 16 : 30'000;
            const int64_t timeout_ms = random.below(3);
            if (thread < 2) {
                const auto sent = office.send(from, to, thread % 2, bytes, 1, timeout_ms);
                const Status status = sent.end();
                require(status.ok() || status.code == TUTTI_ERR_TIMEOUT ||
                            status.code == TUTTI_ERR_MISMATCH,
                        status.message);
            } else {
                const auto received =
                    office.receive(to, random.below(4) == 0 ? -1 : from, from, bytes, timeout_ms);
                const Status status = received.end();
                require(status.ok() || status.code == TUTTI_ERR_TIMEOUT ||
                            status.code == TUTTI_ERR_MISMATCH || status.code == TUTTI_ERR_PEER_LOST,
                        status.message);
                if (status.ok()) require(received.holds(std::byte{1}), "stale data");
            }
        }
    });
}

// A message to itself: who times out has its memory back, whatever the receiver does.
void deadlines_meet_messages_to_oneself(void**) {
    PostOffice office(1);
    on_ranks(2, [&](int thread) {
        Random random(100 + thread);
        for (int index = 0; index < 500; ++index) {
            if (thread == 0) {
                auto sent = office.send(0, 0, 0, 2'000, 1, random.below(2));
                require(sent.work->wait(ample()), "a send did not end");
                std::fill(sent.data.begin(), sent.data.end(), std::byte{2});
            } else {
                const auto received = office.receive(0, 0, 0, 2'000, random.below(2));
                if (received.end().ok()) require(received.holds(std::byte{1}), "stale data");
            }
        }
    });
}

// The order of one sender's messages holds although every second receive has no time to wait.
void receives_without_time_keep_the_order(void**) {
    constexpr int count = 400;
    PostOffice office(2);
    on_ranks(2, [&](int rank) {
        if (rank == 0) {
            for (int number = 0; number < count; ++number) {
                std::vector<std::byte> data(sizeof number);
                std::memcpy(data.data(), &number, sizeof number);
                expect_gone(office.send(0, 1, 0, std::move(data)), "a send");
            }
            return;
        }
        const auto patience = ample();
        for (int number = 0; number < count;) {
            require(!patience.expired(), cat("message ", number, " was lost"));
            const auto received = office.receive(1, 0, 0, sizeof number, number % 2);
            if (!received.end().ok()) continue;
            int got = -1;
            std::memcpy(&got, received.data.data(), sizeof got);
            require(got == number, cat("after ", number - 1, " came ", got));
            ++number;
        }
    });
}

// One rank's end, by abort or by close, while all are talking.
template <typename End>
void end_under_traffic(End&& end, int turns) {
    for (int turn = 0; turn < turns; ++turn) {
        PostOffice office(3);
        std::atomic<bool> over{false};
        std::vector<std::thread> ends;
        std::atomic<int> under_way{0};
        on_ranks(5, [&](int thread) {
            if (thread == 4) {
                while (under_way < 20) std::this_thread::yield();
                for (int rank = 0; rank < 3; ++rank) end(office, rank);
                over = true;
                return;
            }
            Random random(1000 * turn + thread);
            const int rank = thread % 3;
            // Kept until the end, as a caller keeps what he does not wait for.
            std::vector<Letter> letters;
            try {
                while (!over && letters.size() < 2000) {
                    const size_t bytes = random.below(3) == 0 ? 50'000 : 8;
                    const int other = random.below(3);
                    const int tag = random.below(3);
                    if (random.below(2) == 0) {
                        letters.push_back(office.send(rank, other, tag, bytes, 1));
                    } else {
                        letters.push_back(
                            office.receive(rank, random.below(3) == 0 ? -1 : other, tag, bytes));
                    }
                    ++under_way;
                }
            } catch (const Error&) {  // it has ended
            }
            for (const Letter& letter : letters) {
                require(letter.work->wait(ample()), "a work outlived the end of its group");
            }
        });
    }
}

void an_abort_under_traffic_ends_everything(void**) {
    const auto abort = [](PostOffice& office, int rank) {
        office.abort(rank, {TUTTI_ERR_PEER_LOST, 1, 0, "rank 1 died"});
    };
    end_under_traffic(abort, 8);
}

// What the destruction of a backend does; that calls of other threads come in between, a group
// forbids.
void a_close_under_traffic_ends_everything(void**) {
    const auto close = [](PostOffice& office, int rank) {
        office.channel(rank).leave();
        office.abort(rank, {TUTTI_ERR_ABORTED, -1, 0, "the group was destroyed"});
        office.messages(rank).close();
    };
    end_under_traffic(close, 8);
}

// Memory is the caller's again as soon as a work has ended, also by an abort amid the data.
void an_abort_amid_the_data_gives_the_memory_back(void**) {
    for (int turn = 0; turn < 15; ++turn) {
        PostOffice office(2);
        constexpr size_t bytes = 8 << 20;
        auto sent = office.send(0, 1, 0, bytes, 1);
        auto received = office.receive(1, 0, 0, bytes);
        std::thread aborting([&] {
            for (int spin = 0; spin < turn * 20; ++spin) std::this_thread::yield();
            office.abort(turn % 2, {TUTTI_ERR_ABORTED, -1, 0, "enough"});
        });
        Letter& mine = turn % 2 == 0 ? sent : received;
        require(mine.work->wait(ample()), "the abort ended nothing");
        std::fill(mine.data.begin(), mine.data.end(), std::byte{5});
        aborting.join();
        office.close(turn % 2);
        require(mine.holds(std::byte{5}), "the memory was written to after the end");
        office.close(1 - turn % 2);
    }
}

}  // namespace

int main(int count, char** arguments) {
    choose_channel(count, arguments);
    print_message("seed %u (TUTTI_TEST_SEED)\n", seed());
    const CMUnitTest tests[] = {
        TUTTI_TEST(many_threads_lose_no_message),
        TUTTI_TEST(deadlines_meet_messages),
        TUTTI_TEST(deadlines_meet_messages_to_oneself),
        TUTTI_TEST(receives_without_time_keep_the_order),
        TUTTI_TEST(an_abort_under_traffic_ends_everything),
        TUTTI_TEST(a_close_under_traffic_ends_everything),
        TUTTI_TEST(an_abort_amid_the_data_gives_the_memory_back),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
