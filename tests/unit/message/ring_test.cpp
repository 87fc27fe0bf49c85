// Do messages through memory get along with many threads, with more than there is room for, and
// with a peer that writes what no message is?
#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "post_office.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;
using message::Descriptor;
using message::Ring;
using message::RingView;
using message::State;

// Whether long data are read where they are, or come in the stream.
bool& reads_there() {
    static bool chosen = false;
    return chosen;
}

// Ranks of one process, each with its own messages.
class Ranks {
public:
    explicit Ranks(int size)
        : memory_(size, reads_there() ? ::getpid() : 0), channels_(connect_all(size)) {
        for (const auto& channel : channels_) {
            message::Neighbours all = memory_.all();
            all.spins = 5;
            messages_.push_back(messages_of(channel->channel(), all));
        }
    }
    ~Ranks() {
        for (const auto& channel : channels_) channel->leave();
    }
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    message::Messages& operator[](int rank) { return *messages_[static_cast<size_t>(rank)]; }
    ChannelRank& rank(int rank) { return *channels_[static_cast<size_t>(rank)]; }
    Channel& channel(int rank) { return channels_[static_cast<size_t>(rank)]->channel(); }
    // From one rank to another.
    [[nodiscard]] RingView ring(int from, int to) const {
        return RingView::in(memory_.of(from), to, static_cast<int>(messages_.size()));
    }

private:
    RingMemory memory_;
    ChannelRanks channels_;
    std::vector<std::shared_ptr<message::Messages>> messages_;
};

Send send_of(const std::vector<std::byte>& data, int to, int tag) {
    return {{data.data(), static_cast<int64_t>(data.size()), TUTTI_UINT8}, to, tag};
}
Receive receive_of(std::vector<std::byte>& data, int from, int tag) {
    return {{data.data(), static_cast<int64_t>(data.size()), TUTTI_UINT8}, from, tag};
}

// Every byte depends on its place.
std::vector<std::byte> pattern(size_t bytes, uint32_t salt) {
    std::vector<std::byte> data(bytes);
    for (size_t at = 0; at < bytes; ++at) data[at] = std::byte((at * 31 + at / 251 + salt) & 0xFF);
    return data;
}

void expect_failure(tutti_status code, const std::string& fragment,
                    const std::function<void()>& act) {
    try {
        act();
    } catch (const Error& error) {
        require(error.status().code == code &&
                    error.status().message.find(fragment) != std::string::npos,
                cat("status ", error.status().code, ", ", error.what()));
        return;
    }
    require(false, cat("nothing failed where \"", fragment, "\" was to come"));
}

void blocking_messages_of_all_sizes_come_round_the_stream(void**) {
    Ranks ranks(2);
    const size_t stream = message::stream_bytes_for(2);
    std::vector<size_t> sizes{0, 1, 31, 32, 33, 63, 64, 65, 4095, 4096, 4097, 5000, 65'537};
    for (const size_t size : {stream - 64, stream - 63, stream, stream + 1, 3 * stream + 7}) {
        sizes.push_back(size);
    }
    on_ranks(2, [&](int rank) {
        for (uint32_t turn = 0; turn < 6; ++turn) {
            for (const size_t size : sizes) {
                const auto salt = static_cast<uint32_t>(size) + turn;
                std::vector<std::byte> received(size);
                if (rank == 0) ranks[0].send(send_of(pattern(size, salt), 1, 3), ample());
                const int source = ranks[rank].receive(
                    receive_of(received, turn % 2 == 0 ? 1 - rank : any_source, 3), ample());
                if (rank == 1) ranks[1].send(send_of(pattern(size, salt), 0, 3), ample());
                require(source == 1 - rank, "the source");
                require(same(received, pattern(size, salt)), cat("the data of ", size, " bytes"));
            }
        }
    });
}

void a_tag_may_overtake_more_messages_than_there_are_descriptors(void**) {
    Ranks ranks(2);
    constexpr int count = 500;
    std::vector<std::vector<std::byte>> data;
    std::vector<std::shared_ptr<Work>> works;
    for (int number = 0; number < count; ++number) {
        data.push_back(pattern(number % 3 == 0 ? 8 : 3000, static_cast<uint32_t>(number)));
        works.push_back(std::make_shared<Work>());
        ranks[0].start(send_of(data.back(), 1, 1), ample(), works.back());
    }
    const auto last = pattern(100, 7);
    works.push_back(std::make_shared<Work>());
    ranks[0].start(send_of(last, 1, 2), ample(), works.back());
    std::vector<std::byte> received(last.size());
    ranks[1].receive(receive_of(received, any_source, 2), ample());
    assert_true(same(received, last));
    for (const auto& one : data) {
        received.assign(one.size(), std::byte{0});
        ranks[1].receive(receive_of(received, 0, 1), ample());
        assert_true(same(received, one));
    }
    for (const auto& work : works) {
        assert_true(work->wait(ample()));
        assert_true(work->status()->ok());
    }
}

// Long data both ways: the rank that receives while it still sends reads in place, if it can, and
// the other one, whose own message has arrived by then, takes the stream.
void long_data_both_ways_are_read_in_place(void**) {
    for (const size_t size : {shm::KiB * 512, shm::MiB * 3 + 5}) {
        Ranks ranks(2);
        const auto forth = pattern(size, 1);
        const auto back = pattern(size, 2);
        std::vector<std::shared_ptr<Work>> works;
        for (const int rank : {0, 1}) {
            works.push_back(std::make_shared<Work>());
            ranks[rank].start(send_of(rank == 0 ? forth : back, 1 - rank, 0), ample(),
                              works.back());
        }
        std::vector<std::byte> received(size);
        ranks[0].receive(receive_of(received, 1, 0), ample());
        assert_true(same(received, back));
        assert_int_equal(ranks.ring(1, 0).ring->written == 0, reads_there());
        received.assign(size, std::byte{0});
        ranks[1].receive(receive_of(received, 0, 0), ample());
        assert_true(same(received, forth));
        assert_true(ranks.ring(0, 1).ring->written >= size);
        for (const auto& work : works) {
            assert_true(work->wait(ample()));
            assert_true(work->status()->ok());
        }
    }
}

// More data of messages that came early than a rank keeps: the rest comes when it is wanted.
void early_messages_keep_no_more_than_their_limit(void**) {
    Ranks ranks(2);
    constexpr int count = 2000;
    const auto data = pattern(message::eager_bytes, 9);
    std::vector<std::shared_ptr<Work>> works;
    for (int number = 0; number < count; ++number) {
        works.push_back(std::make_shared<Work>());
        ranks[0].start(send_of(data, 1, 1), ample(), works.back());
    }
    const std::vector<std::byte> nothing;
    works.push_back(std::make_shared<Work>());
    ranks[0].start(send_of(nothing, 1, 2), ample(), works.back());
    std::vector<std::byte> received;
    ranks[1].receive(receive_of(received, 0, 2), ample());
    for (int number = 0; number < count; ++number) {
        received.assign(data.size(), std::byte{0});
        ranks[1].receive(receive_of(received, 0, 1), ample());
        assert_true(same(received, data));
    }
    for (const auto& work : works) assert_true(work->wait(ample()) && work->status()->ok());
}

// Long ones wait for an earlier one to be received; short ones are the receiver's then.
void more_messages_than_offers_arrive_in_order(void**) {
    Ranks ranks(2);
    constexpr size_t count = message::max_offers + 1000;
    std::vector<uint32_t> numbers(count);
    std::vector<std::shared_ptr<Work>> works;
    for (uint32_t number = 0; number < count; ++number) {
        numbers[number] = number;
        works.push_back(std::make_shared<Work>());
        ranks[0].start(Send{{&numbers[number], 1, TUTTI_UINT32}, 1, 0}, ample(), works.back());
    }
    for (uint32_t number = 0; number < count; ++number) {
        uint32_t received = 0;
        ranks[1].receive(Receive{{&received, 1, TUTTI_UINT32}, 0, 0}, ample());
        assert_int_equal(received, number);
    }
    for (const auto& work : works) assert_true(work->wait(ample()) && work->status()->ok());
}

// The first that is received came behind more short messages than there are offers.
void more_short_messages_than_offers_may_be_overtaken(void**) {
    Ranks ranks(2);
    constexpr size_t count = message::max_offers + 1000;
    const auto data = [](size_t number) {
        return pattern(number % 100 == 0 ? message::eager_bytes : number % 50,
                       static_cast<uint32_t>(number));
    };
    std::vector<std::vector<std::byte>> sent(count);
    std::vector<std::shared_ptr<Work>> works;
    const auto start = [&](const std::vector<std::byte>& one, int tag) {
        works.push_back(std::make_shared<Work>());
        ranks[0].start(send_of(one, 1, tag), ample(), works.back());
    };
    for (size_t number = 0; number < count; ++number) start(sent[number] = data(number), 1);
    const auto last = pattern(8, 7);
    start(last, 2);
    std::vector<std::byte> received(last.size());
    ranks[1].receive(receive_of(received, 0, 2), ample());
    assert_true(same(received, last));
    for (size_t number = 0; number < count; ++number) {
        received.assign(sent[number].size(), std::byte{0});
        ranks[1].receive(receive_of(received, 0, 1), ample());
        assert_true(same(received, sent[number]));
    }
    for (const auto& work : works) assert_true(work->wait(ample()) && work->status()->ok());
}

// All offers are out, and the messages beyond them are done: they come although their sender left.
void messages_that_were_given_outlive_their_sender(void**) {
    Ranks ranks(2);
    const int64_t value = 5;
    const auto start = [&](int tag) {
        auto work = std::make_shared<Work>();
        ranks[0].start(Send{{&value, 1, TUTTI_INT64}, 1, tag}, ample(), work);
        return work;
    };
    for (size_t number = 0; number < message::max_offers; ++number) start(1);
    int64_t received = 0;
    for (int turn = 0; turn < 2; ++turn) {  // the receiver has read all descriptors
        const auto heard = start(2);
        ranks[1].receive(Receive{{&received, 1, TUTTI_INT64}, 0, 2}, ample());
        assert_true(heard->wait(ample()) && heard->status()->ok());
    }
    for (int number = 0; number < 3; ++number) {
        const auto given = start(3 + number);
        assert_true(given->wait(ample()) && given->status()->ok());
    }
    ranks.rank(0).leave();
    for (int number = 3; number-- > 0;) {
        received = 0;
        ranks[1].receive(Receive{{&received, 1, TUTTI_INT64}, 0, 3 + number}, ample());
        assert_int_equal(received, value);
    }
}

// Messages that were taken back leave nothing with a receiver that hears them, and does not want
// them.
void messages_taken_back_are_forgotten(void**) {
    Ranks ranks(2);
    std::vector<std::byte> small(8);
    for (int number = 0; number < 300; ++number) {
        const auto late = std::make_shared<Work>();
        ranks[0].start(send_of(small, 1, 1), Deadline::after_ms(0), late);
        assert_true(late->wait(ample()));
        assert_int_equal(late->status()->code, TUTTI_ERR_TIMEOUT);
        const auto good = std::make_shared<Work>();
        ranks[0].start(send_of(small, 1, 2), ample(), good);
        std::vector<std::byte> received(small.size());
        ranks[1].receive(receive_of(received, 0, 2), ample());
        assert_true(good->wait(ample()) && good->status()->ok());
    }
    std::vector<std::byte> received(small.size());
    expect_failure(TUTTI_ERR_TIMEOUT, "timed out waiting for a message of rank 0",
                   [&] { ranks[1].receive(receive_of(received, 0, 1), Deadline::after_ms(1)); });
}

struct Plan {
    int to;
    int tag;
    size_t bytes;
    uint32_t salt;
};

// Every rank has threads that send to any of the others, and one to receive what each of those
// threads sends here.
void threads_of_many_ranks_lose_nothing(void**) {
    constexpr int size = 3;
    constexpr int lanes = 3;  // threads that send at each rank; thread `lane` has tag `lane`
    constexpr int count = 120;
    Ranks ranks(size);
    const auto plans_of = [&](int rank, int lane) {
        std::mt19937 random(seed() + static_cast<uint32_t>(rank * lanes + lane));
        std::vector<Plan> plans;
        for (int index = 0; index < count; ++index) {
            const int to = (rank + 1 + static_cast<int>(random() % (size - 1))) % size;
            const size_t kinds[] = {random() % 40, random() % 5000, random() % 300'000};
            const size_t bytes = 8 + kinds[lane == 2 && index % 5 == 0 ? 2 : random() % 2];
            plans.push_back({to, lane, bytes, static_cast<uint32_t>(random())});
        }
        return plans;
    };
    const auto send_all = [&](int rank, int lane) {
        for (const Plan& plan : plans_of(rank, lane)) {
            const auto data = pattern(plan.bytes, plan.salt);
            const Send call = send_of(data, plan.to, plan.tag);
            if (plan.salt % 3 != 0) {
                ranks[rank].send(call, ample());
                continue;
            }
            const auto work = std::make_shared<Work>();
            ranks[rank].start(call, ample(), work);
            require(work->wait(ample()) && work->status()->ok(), "a send");
        }
    };
    const auto receive_all = [&](int rank, int from, int lane) {
        for (const Plan& plan : plans_of(from, lane)) {
            if (plan.to != rank) continue;
            std::vector<std::byte> received(plan.bytes);
            const Receive call = receive_of(received, from, lane);
            if (plan.salt % 2 == 0) {
                ranks[rank].receive(call, ample());
            } else {
                const auto work = std::make_shared<Work>();
                ranks[rank].start(call, ample(), work);
                require(work->wait(ample()) && work->status()->ok(), "a receive");
            }
            require(same(received, pattern(plan.bytes, plan.salt)), "the data");
        }
    };
    on_ranks(size * size * lanes, [&](int thread) {
        const int rank = thread % size;
        const int other = thread / size % size;
        const int lane = thread / size / size;
        if (other == rank) return send_all(rank, lane);
        receive_all(rank, other, lane);
    });
}

void threads_that_receive_from_any_share_what_comes(void**) {
    constexpr int size = 4;
    constexpr int count = 300;  // of each sender
    Ranks ranks(size);
    std::vector<std::vector<std::atomic<int>>> seen(size);
    for (auto& one : seen) one = std::vector<std::atomic<int>>(count);
    on_ranks(2 * (size - 1), [&](int thread) {
        const int rank = thread % (size - 1) + 1;
        for (int number = 0; number < count; ++number) {
            if (thread < size - 1) {
                ranks[rank].send(Send{{&number, 1, TUTTI_INT32}, 0, 5}, ample());
                continue;
            }
            int received = -1;
            const int source =
                ranks[0].receive(Receive{{&received, 1, TUTTI_INT32}, any_source, 5}, ample());
            require(received >= 0 && received < count, "a number");
            ++seen[static_cast<size_t>(source)][static_cast<size_t>(received)];
        }
    });
    for (int rank = 1; rank < size; ++rank) {
        for (const auto& times : seen[static_cast<size_t>(rank)]) assert_int_equal(times, 1);
    }
}

// A descriptor as it would be, for the forger to change.
Descriptor& forge(Ring& ring, int64_t count) {
    Descriptor& descriptor = ring.descriptors[1];
    descriptor.head = {count, TUTTI_UINT8, Content::Elements, 0, 0};
    ring.offers[0] = message::state_of(1, State::Offered);
    return descriptor;
}

void a_descriptor_that_none_is_ends_what_waits_for_that_rank(void**) {
    enum class Wrong { Tag, Offer, GivenWithoutData };
    for (const Wrong wrong : {Wrong::Tag, Wrong::Offer, Wrong::GivenWithoutData}) {
        Ranks ranks(3);
        Ring& ring = *ranks.ring(1, 0).ring;
        Descriptor& descriptor = forge(ring, 8);
        if (wrong == Wrong::Tag) descriptor.head.tag = -5;
        if (wrong == Wrong::Offer) descriptor.head.offer = message::max_offers;
        if (wrong == Wrong::GivenWithoutData) {
            descriptor.head.offer = message::given;
            descriptor.head.count = message::eager_bytes + 1;
        }
        descriptor.sequence = 1;
        std::vector<std::byte> data(8, PostOffice::untouched);
        for (int turn = 0; turn < 2; ++turn) {
            expect_failure(TUTTI_ERR_INTERNAL, "rank 1 wrote",
                           [&] { ranks[0].receive(receive_of(data, 1, 0), ample()); });
        }
        // Others go on.
        const auto good = std::make_shared<Work>();
        const std::vector<std::byte> other(8, std::byte{4});
        ranks[2].start(send_of(other, 0, 0), ample(), good);
        assert_int_equal(ranks[0].receive(receive_of(data, any_source, 0), ample()), 2);
        assert_true(same(data, other));
        assert_true(good->wait(ample()));
    }
}

void counts_that_no_memory_has_are_another_message(void**) {
    for (const int64_t count : {int64_t{-1}, INT64_MIN, INT64_MAX, int64_t{1} << 61}) {
        Ranks ranks(2);
        Ring& ring = *ranks.ring(1, 0).ring;
        Descriptor& descriptor = forge(ring, count);
        descriptor.head.dtype = count == -1 ? UINT32_MAX : uint32_t{TUTTI_FLOAT64};
        descriptor.sequence = 1;
        std::vector<std::byte> data(8, PostOffice::untouched);
        expect_failure(TUTTI_ERR_MISMATCH, "where this receive is uint8 × 8",
                       [&] { ranks[0].receive(receive_of(data, 1, 0), ample()); });
        assert_true(same(data, std::vector<std::byte>(8, PostOffice::untouched)));
        assert_int_equal(ring.offers[0], message::state_of(1, State::Taken));
    }
}

enum class Lie { Number, Bytes, Much };

// The receiver has taken a long message, and what stands in the stream is none.
void a_stream_of_something_else_ends_the_receive(void**) {
    for (const Lie lie : {Lie::Number, Lie::Bytes, Lie::Much}) {
        Ranks ranks(2);
        const RingView view = ranks.ring(1, 0);
        Ring& ring = *view.ring;
        constexpr size_t bytes = 100'000;
        forge(ring, bytes).sequence = 1;
        const message::StreamHead head{lie == Lie::Number ? 77U : 1U,
                                       lie == Lie::Bytes ? bytes + 1 : bytes};
        std::memcpy(view.stream, &head, sizeof head);
        ring.written = lie == Lie::Much ? view.stream_bytes + 64 : 4096;
        std::vector<std::byte> data(bytes, PostOffice::untouched);
        expect_failure(TUTTI_ERR_INTERNAL, "rank 1 wrote",
                       [&] { ranks[0].receive(receive_of(data, 1, 0), ample()); });
        assert_true(same(data, std::vector<std::byte>(bytes, PostOffice::untouched)));
    }
}

// A receiver's notes of the bytes it has heard and read keep the sender inside its memory.
void a_receiver_that_lies_about_its_progress_harms_nobody_else(void**) {
    for (const uint64_t lie : {UINT64_MAX, uint64_t{1} << 63, uint64_t{1'000'003}}) {
        Ranks ranks(3);
        const RingView view = ranks.ring(0, 1);
        const RingView neighbour = ranks.ring(0, 2);
        view.ring->consumed = lie;
        view.ring->read = lie;
        view.ring->settled = lie;
        const auto data = pattern(2'000'000, 1);
        std::vector<std::shared_ptr<Work>> works;
        for (int number = 0; number < 40; ++number) {
            works.push_back(std::make_shared<Work>());
            ranks[0].start(send_of(data, 1, 0), Deadline::after_ms(20), works.back());
        }
        for (auto& offer : view.ring->offers) {
            offer = message::state_of(offer.load() >> message::state_bits, State::Wanted);
        }
        // Wanted messages end only with the group.
        ranks[0].abort({TUTTI_ERR_ABORTED, -1, 0, "enough"});
        for (const auto& work : works) assert_true(work->wait(ample()));
        const auto* const begin = reinterpret_cast<const std::byte*>(neighbour.ring);
        for (size_t at = 0; at < sizeof(Ring); ++at) assert_true(begin[at] == std::byte{0});
    }
}

void who_waits_here_and_now_learns_of_an_abort_and_of_one_who_left(void**) {
    Ranks ranks(3);
    std::vector<std::byte> data(8);
    std::thread aborting([&] {
        while (ranks.ring(0, 1).ring->descriptors[1].sequence != 1) std::this_thread::yield();
        ranks[0].abort({TUTTI_ERR_ABORTED, -1, 0, "enough"});
    });
    expect_failure(TUTTI_ERR_ABORTED, "enough",
                   [&] { ranks[0].send(send_of(data, 1, 0), ample()); });
    aborting.join();
    expect_failure(TUTTI_ERR_ABORTED, "enough",
                   [&] { ranks[0].receive(receive_of(data, 1, 0), ample()); });
    // Its offers are taken back.
    expect_failure(TUTTI_ERR_TIMEOUT, "rank 0",
                   [&] { ranks[1].receive(receive_of(data, 0, 0), Deadline::after_ms(1)); });
    ranks.rank(2).leave();
    expect_failure(TUTTI_ERR_PEER_LOST, "rank 2 left the group",
                   [&] { ranks[1].receive(receive_of(data, 2, 0), ample()); });
    ranks.rank(0).leave();
    expect_failure(TUTTI_ERR_PEER_LOST, "all other ranks left the group",
                   [&] { ranks[1].receive(receive_of(data, any_source, 0), ample()); });
}

}  // namespace

int main(int count, char** arguments) {
    choose_channel(1, arguments);
    reads_there() = count > 1;  // any argument
    print_message("seed %u (TUTTI_TEST_SEED)\n", seed());
    const CMUnitTest tests[] = {
        TUTTI_TEST(blocking_messages_of_all_sizes_come_round_the_stream),
        TUTTI_TEST(a_tag_may_overtake_more_messages_than_there_are_descriptors),
        TUTTI_TEST(long_data_both_ways_are_read_in_place),
        TUTTI_TEST(early_messages_keep_no_more_than_their_limit),
        TUTTI_TEST(more_messages_than_offers_arrive_in_order),
        TUTTI_TEST(more_short_messages_than_offers_may_be_overtaken),
        TUTTI_TEST(messages_that_were_given_outlive_their_sender),
        TUTTI_TEST(messages_taken_back_are_forgotten),
        TUTTI_TEST(threads_of_many_ranks_lose_nothing),
        TUTTI_TEST(threads_that_receive_from_any_share_what_comes),
        TUTTI_TEST(a_descriptor_that_none_is_ends_what_waits_for_that_rank),
        TUTTI_TEST(counts_that_no_memory_has_are_another_message),
        TUTTI_TEST(a_stream_of_something_else_ends_the_receive),
        TUTTI_TEST(a_receiver_that_lies_about_its_progress_harms_nobody_else),
        TUTTI_TEST(who_waits_here_and_now_learns_of_an_abort_and_of_one_who_left),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
