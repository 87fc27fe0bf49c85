// Do messages, deadlines, aborts and the end of a group get along on many threads at once? Random
// traffic; the seed is printed, the sanitizers are the judges, and no wait may go on for ever.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <random>

#include "post_office.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

class Random {
public:
    explicit Random(int salt) : generator_(seed() + static_cast<uint32_t>(salt)) {}
    int below(int limit) { return static_cast<int>(generator_() % static_cast<uint32_t>(limit)); }

private:
    std::mt19937 generator_;
};

std::vector<std::byte> numbered(int number, size_t bytes) {
    std::vector<std::byte> data(bytes);
    std::memcpy(data.data(), &number, sizeof number);
    return data;
}

int number_of(const Letter& letter) {
    int number = -1;
    std::memcpy(&number, letter.data.data(), sizeof number);
    return number;
}

// One thread sends with each tag, several receive, from that rank or from any: every number comes
// once, and each thread gets its share in order. Long messages have a tag of their own.
void many_threads_lose_no_message(void**) {
    constexpr int tags = 3;
    constexpr int receivers = 3;  // for each tag
    constexpr int count = 400 * receivers;
    const std::array<size_t, tags> bytes{4, 20'000, 4'000};
    PostOffice office(2);
    std::array<std::array<std::atomic<int>, count>, tags> seen{};
    on_ranks(tags * (1 + receivers), [&](int thread) {
        const int tag = thread % tags;
        const size_t size = bytes[static_cast<size_t>(tag)];
        if (thread < tags) {
            std::deque<Letter> sent;
            for (int number = 0; number < count; ++number) {
                sent.push_back(office.send(0, 1, tag, numbered(number, size)));
                if (number % 7 != 0) continue;
                for (const Letter& letter : sent) expect_gone(letter, "a send");
                sent.clear();
            }
            for (const Letter& letter : sent) expect_gone(letter, "a send");
            return;
        }
        int last = -1;
        for (int index = 0; index < count / receivers; ++index) {
            const auto received = office.receive(1, (thread + index) % 2 == 0 ? 0 : -1, tag, size);
            expect_gone(received, "a receive");
            const int number = number_of(received);
            require(number >= 0 && number < count, cat("number ", number));
            require(number > last, cat("tag ", tag, ": after ", last, " came ", number));
            ++seen[static_cast<size_t>(tag)][static_cast<size_t>(number)];
            last = number;
        }
    });
    for (const auto& numbers : seen) {
        for (const auto& times : numbers) assert_int_equal(times, 1);
    }
}

// Receives that one thread starts one after the other get the messages in that order, although
// another thread receives with the same tag.
void receives_started_in_order_are_served_in_order(void**) {
    constexpr int turns = 60;
    constexpr int ahead = 16;
    PostOffice office(2);
    on_ranks(3, [&](int thread) {
        if (thread == 0) {
            std::deque<Letter> sent;
            for (int number = 0; number < 2 * turns * ahead; ++number) {
                sent.push_back(office.send(0, 1, 0, numbered(number, sizeof number)));
            }
            for (const Letter& letter : sent) expect_gone(letter, "a send");
            return;
        }
        int last = -1;
        for (int turn = 0; turn < turns; ++turn) {
            std::deque<Letter> received;
            for (int index = 0; index < ahead; ++index) {
                received.push_back(office.receive(1, index % 2 == 0 ? 0 : -1, 0, sizeof last));
            }
            for (const Letter& letter : received) {
                expect_gone(letter, "a receive");
                require(number_of(letter) > last, cat("after ", last, " came ", number_of(letter)));
                last = number_of(letter);
            }
        }
    });
}

// Ranks that are reached in different ways, and threads that wait here and now: a receive from any
// source takes whatever comes first, and misses nobody.
void receives_from_any_share_what_all_ranks_send(void**) {
    constexpr int size = 4;
    constexpr int count = 300;  // of each sender
    PostOffice office(size);
    std::array<std::array<std::atomic<int>, count>, size> seen{};
    on_ranks(2 * (size - 1), [&](int thread) {
        const int rank = thread % (size - 1) + 1;
        std::array<int, size> last{-1, -1, -1, -1};
        for (int number = 0; number < count; ++number) {
            if (thread < size - 1) {
                const auto data = numbered(number, number % 9 == 0 ? 20'000 : 8);
                const Send call{{data.data(), static_cast<int64_t>(data.size()), TUTTI_UINT8},
                                0,
                                5,
                                Content::ByteString};
                office.messages(rank).send(call, ample());
                continue;
            }
            const auto incoming = std::make_shared<Incoming>();
            const Receive call{{}, any_source, 5, Content::ByteString, 20'000, incoming};
            const auto source = static_cast<size_t>(office.messages(0).receive(call, ample()));
            int received = -1;
            std::memcpy(&received, incoming->bytes.bytes().data(), sizeof received);
            require(received > last[source], cat("after ", last[source], " came ", received));
            last[source] = received;
            ++seen[source][static_cast<size_t>(received)];
        }
    });
    for (size_t rank = 1; rank < size; ++rank) {
        for (const auto& times : seen[rank]) assert_int_equal(times, 1);
    }
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
                            status.code == TUTTI_ERR_MISMATCH,
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
        const auto limit = ample();
        for (int number = 0; number < count;) {
            require(!limit.expired(), cat("message ", number, " was lost"));
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

// The destruction of a backend; that calls of other threads come in between, a group
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
        TUTTI_TEST(receives_started_in_order_are_served_in_order),
        TUTTI_TEST(receives_from_any_share_what_all_ranks_send),
        TUTTI_TEST(deadlines_meet_messages),
        TUTTI_TEST(deadlines_meet_messages_to_oneself),
        TUTTI_TEST(receives_without_time_keep_the_order),
        TUTTI_TEST(an_abort_under_traffic_ends_everything),
        TUTTI_TEST(a_close_under_traffic_ends_everything),
        TUTTI_TEST(an_abort_amid_the_data_gives_the_memory_back),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
