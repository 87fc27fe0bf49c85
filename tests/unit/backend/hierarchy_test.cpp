// Do all ranks find the same hosts, do lists of pieces go by the lanes whole, and do failures among
// some of the ranks name those of the group? N ranks as threads.
#include "backends/hierarchy/hierarchy.hpp"
#include "backend/inline_backend.hpp"
#include "backends/hierarchy/lanes.hpp"
#include "backends/shm/bootstrap.hpp"
#include "backends/shm/collectives.hpp"
#include "call/lower.hpp"
#include "unit/transport/ranks.hpp"

#include <algorithm>
#include <numeric>

namespace {

using namespace tutti;
using namespace tutti::hierarchy;
using namespace tutti::test;

// TUTTI_HOSTS, for as long as it stands.
class HostsVariable {
public:
    explicit HostsVariable(const char* value) { ::setenv("TUTTI_HOSTS", value, 1); }
    ~HostsVariable() { ::unsetenv("TUTTI_HOSTS"); }
    HostsVariable(const HostsVariable&) = delete;
    HostsVariable& operator=(const HostsVariable&) = delete;
};

const std::vector<std::vector<Ranks>> placements{
    {{0, 1}, {2, 3}}, {{0, 2}, {1, 3}}, {{0, 1, 2}, {3}}, {{0, 3, 4, 6}, {1, 5, 7}, {2, 8}}};

void hosts_know_places_and_lanes_and_whether_ranks_follow_each_other(void**) {
    const Hosts hosts(placements.back(), 5);
    assert_int_equal(hosts.count(), 3);
    assert_int_equal(hosts.ranks(), 9);
    assert_int_equal(hosts.host(), 1);
    assert_int_equal(hosts.local_rank(), 1);
    assert_int_equal(hosts.fewest(), 2);
    assert_int_equal(hosts.most(), 4);
    assert_true(hosts.lane(0) == (Ranks{0, 1, 2}));
    assert_true(hosts.lane(1) == (Ranks{3, 5, 8}));
    assert_true(hosts.leaders(6) == (Ranks{6, 1, 2}));
    assert_true(hosts.leaders(1) == (Ranks{0, 1, 2}));
    const bool follow[] = {true, false, true, false};
    for (size_t index = 0; index < placements.size(); ++index) {
        assert_int_equal(Hosts(placements[index], 0).are_in_order(), follow[index]);
    }
}

// Every piece of a host goes by one lane, in one row, and in one run.
void pieces_go_by_lanes_rows_and_runs_once(void**) {
    for (const auto& placement : placements) {
        const Hosts hosts(placement, 0);
        std::vector<std::byte> memory(100);
        std::vector<Bytes> pieces;
        size_t at = 0;
        for (int rank = 0; rank < hosts.ranks(); ++rank) {
            const size_t length = static_cast<size_t>(rank) % 3;
            pieces.push_back(Bytes(memory).subspan(at, length));
            at += length;
        }
        const auto add = [](const std::vector<Bytes>& some, std::vector<std::byte*>& all) {
            for (const Bytes piece : some) {
                for (std::byte& byte : piece) all.push_back(&byte);
            }
        };
        for (int host = 0; host < hosts.count(); ++host) {
            std::vector<std::byte*> wanted;
            add(column<std::byte>(hosts, host, 0, 1, pieces), wanted);
            for (int lanes = 1; lanes <= hosts.fewest(); ++lanes) {
                std::vector<std::byte*> in_columns;
                std::vector<std::byte*> in_rows;
                for (int lane = 0; lane < lanes; ++lane) {
                    add(column<std::byte>(hosts, host, lane, lanes, pieces), in_columns);
                }
                for (size_t index = 0; index < rows(hosts, host, lanes); ++index) {
                    add(row<std::byte>(hosts, host, index, lanes, pieces), in_rows);
                }
                std::ranges::sort(in_columns);
                assert_true(in_columns == wanted);
                assert_true(in_rows == wanted);
            }
            for (const bool is_whole : {false, true}) {
                std::vector<std::byte*> in_runs;
                const auto some = runs<std::byte>(hosts, host, is_whole, pieces);
                add(some, in_runs);
                assert_true(in_runs == wanted);
                const Ranks& ranks = hosts.on(host);
                const auto begins = std::ranges::count_if(ranks, [&](int rank) {
                    return !is_whole || std::ranges::find(ranks, rank - 1) == ranks.end();
                });
                assert_int_equal(some.size(), begins);
            }
        }
    }
}

void pieces_that_are_joined_keep_what_is_between_them(void**) {
    std::vector<uint8_t> numbers(10);
    std::iota(numbers.begin(), numbers.end(), uint8_t{0});
    const Bytes memory = std::as_writable_bytes(std::span(numbers));
    const Joined whole({memory.first(3), memory.subspan(3, 2)});
    assert_ptr_equal(whole.all().data(), memory.data());
    const Joined apart({memory.first(3), memory.subspan(5, 2), memory.subspan(9, 0)});
    assert_ptr_not_equal(apart.all().data(), memory.data());
    apart.pack();
    const uint8_t packed[] = {0, 1, 2, 5, 6};
    assert_int_equal(apart.all().size(), sizeof packed);
    assert_memory_equal(apart.all().data(), packed, sizeof packed);
    std::ranges::fill(apart.all(), std::byte{77});
    apart.unpack();
    const uint8_t unpacked[] = {77, 77, 77, 3, 4, 77, 77, 7, 8, 9};
    assert_memory_equal(numbers.data(), unpacked, sizeof unpacked);
}

std::vector<shm::BootstrapResult> bootstrap_all(ChannelWorld& world) {
    std::vector<shm::BootstrapResult> results(static_cast<size_t>(world.size()));
    on_ranks(world.size(), [&](int rank) {
        results[static_cast<size_t>(rank)] = shm::bootstrap(world.membership(rank), ample());
    });
    return results;
}

void ranks_are_on_the_hosts_that_the_variable_says(void**) {
    ChannelWorld world(5);
    {
        const auto results = bootstrap_all(world);
        for (const shm::BootstrapResult& result : results) {
            assert_true(result.all_see_each_other());
            assert_int_equal(result.hosts.size(), 1);
        }
    }
    const HostsVariable variable("7,3,7,1");
    const auto results = bootstrap_all(world);
    const std::vector<Ranks> expected{{0, 2, 4}, {1}, {3}};
    for (int rank = 0; rank < 5; ++rank) {
        const shm::BootstrapResult& result = results[static_cast<size_t>(rank)];
        assert_true(result.hosts == expected);
        assert_string_equal(result.why.c_str(),
                            "rank 0 does not see the memory of rank 1: TUTTI_HOSTS says that it "
                            "is on another host");
        const Ranks& here = expected[static_cast<size_t>(Hosts(expected, rank).host())];
        assert_true(result.here.members == here);
        assert_int_equal(result.here.segments.size(), here.size());
    }
}

void a_malformed_list_of_hosts_names_the_variable(void**) {
    for (const char* const value : {"0,x", "0,,1", "-1", ","}) {
        const HostsVariable variable(value);
        ChannelWorld world(2);
        on_ranks(2, [&](int rank) {
            try {
                (void)shm::bootstrap(world.membership(rank), ample());
                require(false, cat(value, " was taken"));
            } catch (const Error& error) {
                require(error.status().code == TUTTI_ERR_INVALID_ARGUMENT, error.what());
                require(std::string(error.what()).find("TUTTI_HOSTS") != std::string::npos,
                        error.what());
            }
        });
    }
}

void failures_among_some_ranks_name_those_of_the_group(void**) {
    const HostsVariable variable("0,1");
    ChannelWorld world(4);
    auto results = bootstrap_all(world);
    const Ranks some{1, 3};
    on_ranks(4, [&](int rank) {
        if (rank % 2 == 0) return;
        const Fingerprint print = fingerprint(Barrier{});
        const Deadline soon = Deadline::after_ms(rank == 1 ? 20 : 0);
        try {
            Exchange exchange(world[rank], print, 1, soon, {0, print}, some);
            require(exchange.rank() == rank / 2 && exchange.size() == 2, "its place");
            if (rank == 1) exchange.wait(exchange.receive(1, {}));
            require(rank == 3, "nobody has sent");
        } catch (const Error& error) {
            require(std::string(error.what()) == "timed out waiting for rank 3", error.what());
            require(error.status().rank == 3, "the rank");
        }
        shm::Team team(std::move(results[static_cast<size_t>(rank)].here), world.membership(rank));
        require(team.rank() == rank / 2 && team.size() == 2, "its place in the team");
        team.begin(rank == 1 ? print : Fingerprint{CallKind::MonitoredBarrier, 0, 0, -1, 0}, 2,
                   ample());
        try {
            shm::barrier(team);
            require(false, "the mismatch went unnoticed");
        } catch (const Error& error) {
            const std::string others[] = {
                "", "rank 3 called monitored_barrier #2 while rank 1 called barrier #2", "",
                "rank 1 called barrier #2 while rank 3 called monitored_barrier #2"};
            require(error.what() == others[rank], error.what());
            require(error.status().rank == 4 - rank, "the other rank");
        }
    });
}

void no_host_keeps_memory_if_a_rank_of_another_has_none(void**) {
    const HostsVariable variable("0,0,1,1");
    ChannelWorld world(4);
    std::vector<std::unique_ptr<Backend>> backends(4);
    int wrong[4] = {};
    on_ranks(4, [&](int rank) {
        const auto own = static_cast<size_t>(rank);
        Membership& membership = world.membership(rank);
        backends[own] = hierarchy::make(membership, shm::bootstrap(membership, ample()), ample());
        for (const uint64_t number : {1, 2, 3}) {  // too much; none; all have memory
            const bool all_have = number == 3;
            const Alloc call{number == 1 && rank == 3 ? size_t{1} << 60 : size_t{100}};
            if (number == 2 && rank == 3) call.refuse({TUTTI_ERR_OUT_OF_MEMORY, 3, 0, "none"});
            backends[own]->as_inline()->run(lower(Alloc(call), rank, 4), number, ample());
            wrong[rank] += call.outcome->without != (all_have ? -1 : 3);
            const auto& memory = call.outcome->memory;
            wrong[rank] += memory && (memory.use_count() > 1) != all_have;
        }
    });
    for (const auto& backend : backends) backend->leave();
    for (const int count : wrong) assert_int_equal(count, 0);
}

// The steps inside a host and those between hosts share it: it has begun when they end.
void a_call_over_hosts_has_one_deadline(void**) {
    const HostsVariable variable("0,0,1,1");
    ChannelWorld world(4);
    std::vector<std::unique_ptr<Backend>> backends(4);
    on_ranks(4, [&](int rank) {
        const auto own = static_cast<size_t>(rank);
        Membership& membership = world.membership(rank);
        backends[own] = hierarchy::make(membership, shm::bootstrap(membership, ample()), ample());
        const auto deadline = Deadline::after_ms_of_waiting(60'000);
        backends[own]->as_inline()->run(lower(Barrier{}, rank, 4), 1, deadline);
        const auto latest = Deadline::Clock::now() + std::chrono::minutes(1);
        require(deadline.when() <= latest, "it begins when somebody else asks");
    });
    for (const auto& backend : backends) backend->leave();
}

}  // namespace

int main(int count, char** arguments) {
    choose_channel(count, arguments);
    const CMUnitTest tests[] = {
        TUTTI_TEST(hosts_know_places_and_lanes_and_whether_ranks_follow_each_other),
        TUTTI_TEST(pieces_go_by_lanes_rows_and_runs_once),
        TUTTI_TEST(pieces_that_are_joined_keep_what_is_between_them),
        TUTTI_TEST(ranks_are_on_the_hosts_that_the_variable_says),
        TUTTI_TEST(a_malformed_list_of_hosts_names_the_variable),
        TUTTI_TEST(failures_among_some_ranks_name_those_of_the_group),
        TUTTI_TEST(no_host_keeps_memory_if_a_rank_of_another_has_none),
        TUTTI_TEST(a_call_over_hosts_has_one_deadline),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
