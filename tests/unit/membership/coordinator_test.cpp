// Does a coordinator that is no rank serve as well as one that is? And what does a coordinator make
// of ranks that are watched by others? Ranks that say by hand what a member would.
#include "membership/coordinator.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <thread>

#include "base/mutex.hpp"
#include "members.hpp"
#include "membership/invitation.hpp"
#include "net/interfaces.hpp"
#include "net/loop.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;
using membership::Coordinator;
using membership::Frame;
using membership::Heartbeat;
using membership::Invitation;
using membership::Kind;
using membership::nobody;

// On a thread of its own, as a launcher would have it.
class Office {
public:
    explicit Office(int size, const Heartbeat& heartbeat = {20, 0}) {
        auto door = net::ListenSocket::bind("127.0.0.1", 0, 16);
        where.port = door.port();
        where.token = membership::random_token();
        where.host = net::host_identity();
        where.addresses = {"127.0.0.1"};
        where.rank = nobody;
        const int descriptor = door.release();
        loop_.run([&] {
            coordinator_ = std::make_unique<Coordinator>(loop_, std::vector{descriptor}, nobody,
                                                         size, where.token, heartbeat);
        });
    }
    ~Office() { close(); }
    void close() {
        loop_.run([&] { coordinator_.reset(); });
    }

    Invitation where;

private:
    net::Loop loop_{"office"};
    std::unique_ptr<Coordinator> coordinator_;
};

void ranks_meet_through_it_and_one_that_dies_is_named(void**) {
    Office office(3);
    Members members(3, make_hash_store(), office.where);
    members[2]->report({TUTTI_ERR_MISMATCH, 1, 0, "said by rank 2"});
    members.expect_failure({0, 1, 2}, TUTTI_ERR_MISMATCH, 1, "said by rank 2");
    Office another(3);
    Members next(3, make_hash_store(), another.where);
    next[0].die();
    next.expect_failure({1, 2}, TUTTI_ERR_PEER_LOST, 0, "rank 0 died");
}

void a_rank_that_does_not_belong_is_refused(void**) {
    Office office(2);
    const auto store = make_hash_store();
    TUTTI_EXPECT_ERROR(meet_through(office.where, store, 1, 3, "", ample()),
                       TUTTI_ERR_INVALID_ARGUMENT,
                       "the coordinator refused this process: it says rank 1 of 3, and the "
                       "coordinator says 2 ranks");
    assert_int_equal(store->num_keys(ample()), 0);
}

void who_has_not_come_is_named(void**) {
    Office office(2);
    TUTTI_EXPECT_ERROR(
        meet_through(office.where, make_hash_store(), 0, 2, "", Deadline::after_ms(3000)),
        TUTTI_ERR_TIMEOUT, "timed out waiting for rank 1, which has not joined");
}

// It ends in good order, as when a launcher does, before ranks die or while they do.
void when_it_goes_the_lowest_rank_follows_and_none_is_lost(void**) {
    for (const size_t victim : {1, 3}) {
        Office office(4);
        Members members(4, make_hash_store(), office.where);
        office.close();
        // All have come to the next one, or this would not end.
        std::vector<std::future<void>> steps;
        for (size_t rank = 0; rank < 4; ++rank) {
            steps.push_back(std::async(std::launch::async, [&members, rank] {
                assert_int_equal(members[rank]->all_gather("step", "word", ample()).size(), 4);
            }));
        }
        for (auto& step : steps) step.get();
        for (size_t rank = 0; rank < 4; ++rank) assert_int_equal(members[rank].failures(), 0);
        members[victim].die();
        for (size_t rank = 0; rank < 4; ++rank) {
            if (rank == victim) continue;
            members.expect_failure({rank}, TUTTI_ERR_PEER_LOST, static_cast<int>(victim), "died");
        }
    }
}

// The one who is left has nobody to ask, and says to itself what it had said before.
void a_suspicion_that_a_farewell_has_explained_is_none_for_the_last_rank(void**) {
    Office office(2);
    Members members(2, make_hash_store(), office.where);
    members[1]->suspect(0, "the connection broke");
    members[0]->leave();
    assert_true(members[1].farewells(1) == std::vector{0});
    office.close();
    TUTTI_EXPECT_ERROR(members[1]->all_gather("step", "word", ample()), TUTTI_ERR_PEER_LOST,
                       "left");
    assert_int_equal(members[1].failures(), 0);
}

// A member that a test plays.
class Hand {
public:
    Hand(const Office& office, int rank, int size)
        : socket_(net::Socket::connect({"127.0.0.1", office.where.port}, ample())) {
        say(membership::encode(membership::Hello{
            office.where.token, rank, size, membership::Endpoint{{"127.0.0.1"}, 1, "here", ""}}));
    }
    void say(const std::string& frame) {
        socket_.send_all(std::as_bytes(std::span(frame)), ample());
    }
    void watch(const std::vector<int>& ranks) { say(membership::encode_watch(ranks)); }
    // Passes over what comes before, which count() counts.
    std::string await(Kind kind) {
        for (;;) {
            for (; next_ < heard_.size(); ++next_) {
                if (heard_[next_].first == kind) return heard_[next_++].second;
                ++passed_[heard_[next_].first];
            }
            std::byte bytes[4096];
            const size_t size = socket_.recv_some(bytes, ample());
            if (size == 0) throw Error(TUTTI_ERR_NETWORK, "the coordinator closed the connection");
            frames_.feed(std::span(bytes, size), [&](const Frame& frame) {
                heard_.emplace_back(frame.kind,
                                    std::string(reinterpret_cast<const char*>(frame.fields.data()),
                                                frame.fields.size()));
                return true;
            });
        }
    }
    int await_rank(Kind kind) {
        const std::string fields = await(kind);
        return membership::decode_rank({kind, std::as_bytes(std::span(fields))});
    }
    Status await_status(Kind kind) {
        const std::string fields = await(kind);
        return membership::decode_status({kind, std::as_bytes(std::span(fields))});
    }
    // Frames of that kind that await() has passed over.
    size_t passed(Kind kind) { return passed_[kind]; }

private:
    net::Socket socket_;
    membership::FrameReader frames_;
    std::vector<std::pair<Kind, std::string>> heard_;
    size_t next_ = 0;
    std::map<Kind, size_t> passed_;
};

// Rank 0 is on a host of its own; 1 watches 2 and 3.
struct TwoHosts {
    explicit TwoHosts(const Heartbeat& heartbeat) : office(4, heartbeat) {
        for (int rank = 0; rank < 4; ++rank) ranks.emplace_back(office, rank, 4);
        for (Hand& rank : ranks) rank.await(Kind::Roster);
        ranks[1].watch({2, 3});
        for (const size_t rank : {2, 3}) {
            ranks[rank].watch({1});
            assert_int_equal(ranks[rank].await_rank(Kind::Covered), 1);
        }
    }
    Office office;
    std::vector<Hand> ranks;
};

// However long that takes: its goodbye may be behind what keeps it.
void a_suspicion_counts_once_its_rank_has_answered(void**) {
    const std::string suspicion = membership::encode(
        Kind::Suspect, Status{TUTTI_ERR_PEER_LOST, 2, 0, "the connection broke"});
    for (const bool leaves : {false, true}) {
        TwoHosts hosts(Heartbeat{20, 0});
        hosts.ranks[1].say(suspicion);
        hosts.ranks[2].await(Kind::Doubt);
        // Twice the time in which it would have to be explained.
        for (int ping = 0; ping < 50; ++ping) hosts.ranks[0].await(Kind::Ping);
        hosts.ranks[2].say(leaves ? membership::encode(Kind::Bye, 0, std::vector<int>{})
                                  : membership::encode(Kind::Here));
        hosts.ranks[0].await(leaves ? Kind::Left : Kind::Lost);
        assert_int_equal(hosts.ranks[0].passed(Kind::Lost), 0);
    }
}

// At once, if it must be: who has left and does not know that it is known would ask the next one.
void a_goodbye_that_has_come_is_acknowledged_though_the_coordinator_goes(void**) {
    for (int round = 0; round < 20; ++round) {  // in some the acknowledgement is not due before
        Office office(2);
        Hand stays(office, 0, 2);
        Hand leaves(office, 1, 2);
        leaves.await(Kind::Roster);
        leaves.say(membership::encode(Kind::Bye, 0, std::vector<int>{}) +
                   membership::encode(Kind::QueryMissing));
        leaves.await(Kind::Missing);  // the goodbye has come
        office.close();
        leaves.await(Kind::ByeAck);
        stays.await(Kind::Left);
    }
}

// Says that some ranks live, as long as it lives.
class Beat {
public:
    Beat(std::vector<Hand*> ranks)
        : thread_([this, ranks] {
              Lock lock(mutex_);
              while (!ends_) {
                  for (Hand* const rank : ranks) rank->say(membership::encode(Kind::Ping));
                  changed_.wait(lock, Deadline::after_ms(20));
              }
          }) {}
    ~Beat() { end(); }
    void end() {
        {
            const Lock lock(mutex_);
            ends_ = true;
            changed_.notify_all();
        }
        if (thread_.joinable()) thread_.join();
    }

private:
    Mutex mutex_;
    Condition changed_;
    bool ends_ TUTTI_GUARDED_BY(mutex_) = false;
    std::thread thread_;
};

constexpr Heartbeat watchful{20, 1000};

void who_is_watched_neither_pings_nor_is_pinged(void**) {
    TwoHosts hosts(watchful);
    Beat beat({&hosts.ranks[0], &hosts.ranks[1]});
    const size_t before = hosts.ranks[2].passed(Kind::Ping);
    // Longer than a silent rank would have.
    for (int ping = 0; ping < 150; ++ping) hosts.ranks[0].await(Kind::Ping);
    // It is there nevertheless.
    hosts.ranks[2].say(membership::encode(Kind::Report, 0, {{TUTTI_ERR_BACKEND, 2, 0, "a word"}}));
    hosts.ranks[2].await(Kind::Verdict);
    assert_int_equal(hosts.ranks[2].passed(Kind::Ping), before);
    assert_int_equal(hosts.ranks[2].passed(Kind::Ask) + hosts.ranks[2].passed(Kind::Lost), 0);
}

void what_its_watcher_sees_of_a_rank_is_believed(void**) {
    TwoHosts hosts({20, 0});
    hosts.ranks[0].say(  // who does not watch it
        membership::encode(Kind::Seen, {TUTTI_ERR_PEER_LOST, 3, 0, "not its watcher's word"}));
    hosts.ranks[0].say(membership::encode(Kind::Ask));
    hosts.ranks[0].await(Kind::Ping);
    hosts.ranks[1].say(
        membership::encode(Kind::Seen, {TUTTI_ERR_PEER_LOST, 2, 0, "rank 2 does not run"}));
    for (Hand& rank : hosts.ranks) {
        const Status loss = rank.await_status(Kind::Lost);
        assert_int_equal(loss.rank, 2);
        assert_string_equal(loss.message.c_str(), "rank 2 does not run");
    }
}

void a_watcher_that_leaves_leaves_its_ranks_to_themselves_or_the_next(void**) {
    TwoHosts hosts({20, 0});
    hosts.ranks[1].say(membership::encode(Kind::Bye, 0, std::vector<int>{}));
    for (const size_t rank : {2, 3}) {
        assert_int_equal(hosts.ranks[rank].await_rank(Kind::Covered), nobody);
        hosts.ranks[rank].await(Kind::Ping);
    }
    hosts.ranks[2].watch({3});
    hosts.ranks[3].watch({2});
    assert_int_equal(hosts.ranks[3].await_rank(Kind::Covered), 2);
    hosts.ranks[2].watch({});
    assert_int_equal(hosts.ranks[3].await_rank(Kind::Covered), nobody);
}

// Its ranks are asked, and answer: only the watcher has stopped.
void a_silent_watcher_is_lost_alone_if_its_ranks_answer(void**) {
    TwoHosts hosts(watchful);
    Beat beat({&hosts.ranks[0]});
    for (const size_t rank : {2, 3}) {
        hosts.ranks[rank].await(Kind::Ask);
        hosts.ranks[rank].say(membership::encode(Kind::Ping));
    }
    Beat answers({&hosts.ranks[2], &hosts.ranks[3]});
    assert_int_equal(hosts.ranks[0].await_status(Kind::Lost).rank, 1);
    assert_int_equal(hosts.ranks[2].await_rank(Kind::Covered), nobody);
    for (int ping = 0; ping < 100; ++ping) hosts.ranks[2].await(Kind::Ping);
    assert_int_equal(hosts.ranks[2].passed(Kind::Lost), 1);
}

// The watcher is named first, and all others are known lost soon.
void a_host_that_is_cut_off_loses_all_its_ranks(void**) {
    TwoHosts hosts(watchful);
    Beat beat({&hosts.ranks[0]});
    for (int loss = 1; loss <= 3; ++loss) {
        const Status lost = hosts.ranks[0].await_status(Kind::Lost);
        assert_int_equal(lost.rank, loss);
        assert_non_null(std::strstr(lost.message.c_str(), "has not answered for 1000 ms"));
    }
}

}  // namespace

int main() {
    // A busy machine must not look like a stopped rank.
    ::setenv("TUTTI_HEARTBEAT_TIMEOUT_MS", "0", 1);
    const CMUnitTest tests[] = {
        TUTTI_TEST(ranks_meet_through_it_and_one_that_dies_is_named),
        TUTTI_TEST(a_rank_that_does_not_belong_is_refused),
        TUTTI_TEST(who_has_not_come_is_named),
        TUTTI_TEST(when_it_goes_the_lowest_rank_follows_and_none_is_lost),
        TUTTI_TEST(a_suspicion_that_a_farewell_has_explained_is_none_for_the_last_rank),
        TUTTI_TEST(a_suspicion_counts_once_its_rank_has_answered),
        TUTTI_TEST(a_goodbye_that_has_come_is_acknowledged_though_the_coordinator_goes),
        TUTTI_TEST(who_is_watched_neither_pings_nor_is_pinged),
        TUTTI_TEST(what_its_watcher_sees_of_a_rank_is_believed),
        TUTTI_TEST(a_watcher_that_leaves_leaves_its_ranks_to_themselves_or_the_next),
        TUTTI_TEST(a_silent_watcher_is_lost_alone_if_its_ranks_answer),
        TUTTI_TEST(a_host_that_is_cut_off_loses_all_its_ranks),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
