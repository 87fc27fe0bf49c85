// Does a call end, and say whose fault it is, when a rank of the host shows what cannot be?
#include <cstring>
#include <vector>

#include "backends/shm/bootstrap.hpp"
#include "backends/shm/collectives.hpp"
#include "backends/shm/direct.hpp"
#include "call/alloc.hpp"
#include "call/lower.hpp"
#include "support/collective.hpp"
#include "unit/transport/ranks.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

// Rank 0 calls what rank 1 seems to call, which shows these words in the first line.
void expect_refused(const Collective& collective, const std::vector<uint64_t>& words, bool shares,
                    const std::string& message) {
    ChannelWorld world(2);
    on_ranks(2, [&](int rank) {
        const FlatCall call = lower(Collective(collective), rank, 2);
        Membership& membership = world.membership(rank);
        shm::Team team(std::move(shm::bootstrap(membership, ample()).here), membership);
        if (shares) {
            const Alloc alloc{1 << 20};
            team.begin(fingerprint(alloc), 1, ample());
            shm::alloc(team, alloc);
        }
        team.begin(call.fingerprint, 2, ample());
        if (rank == 1) {
            const size_t bytes = words.size() * sizeof(uint64_t);
            const uint64_t step = team.take(1);
            std::memcpy(team.stage(step, bytes).data(), words.data(), bytes);
            team.post(step);
            return;
        }
        try {
            shm::handler_for(call)(team, call);
            require(false, "it was believed");
        } catch (const Error& error) {
            require(error.what() == message, error.what());
            require(error.status().rank == 1, "whose fault it is");
        }
    });
}

void more_addends_than_a_rank_can_have_are_refused(void**) {
    float value = 1;
    AllReduceAddends call;
    call.output = {&value, 1, TUTTI_FLOAT32};
    for (const uint64_t number : {uint64_t{AllReduceAddends::max_inputs} + 1, uint64_t{1} << 32}) {
        expect_refused(call, {number}, false, cat("rank 1 shows ", number, " addends"));
    }
}

// The sizes that rank 1 says that it sends and expects; no memory is taken for it.
void pieces_that_nobody_expects_are_refused(void**) {
    std::vector<float> values(4);
    const View one{values.data(), 1, TUTTI_FLOAT32};
    const View other{values.data() + 1, 1, TUTTI_FLOAT32};
    const View in{values.data() + 2, 1, TUTTI_FLOAT32};
    expect_refused(AllToAll{{one, other}, {in, {values.data() + 3, 1, TUTTI_FLOAT32}}},
                   {UINT64_MAX, 4, 4, 4}, false,
                   "rank 1 sends 18446744073709551615 bytes where rank 0 expects 4");
    expect_refused(AllToAll{{one, other}, {in, {values.data() + 3, 1, TUTTI_FLOAT32}}},
                   {4, 4, uint64_t{1} << 40, 4}, false,
                   "rank 0 sends 1 elements where rank 1 expects 274877906944");
}

// In the block that ranks share: behind its end, and so near to it that not all can be there.
void data_where_no_memory_is_are_refused(void**) {
    std::vector<float> values(100'000);
    const View all{values.data(), static_cast<int64_t>(values.size()), TUTTI_FLOAT32};
    constexpr shm::Place block = uint64_t{1} << 42;
    for (const shm::Place place : {block + (1 << 21), block + (1 << 20) - 100, 9 * block}) {
        expect_refused(Broadcast{all, 1}, {1, place, 0}, true,
                       "rank 1 shows data where it has no memory");
    }
}

// The rank that shows them is in the call still, so nothing else explains it.
void data_that_the_system_does_not_let_read_are_an_error_at_once(void**) {
    std::vector<float> values(100'000);
    const Broadcast broadcast{{values.data(), 100'000, TUTTI_FLOAT32}, 1};
    ChannelWorld world(2);
    on_ranks(2, [&](int rank) {
        const FlatCall call = lower(Broadcast(broadcast), rank, 2);
        Membership& membership = world.membership(rank);
        shm::TeamConfig config = std::move(shm::bootstrap(membership, ample()).here);
        if (!config.direct) return;
        config.algorithms.fill(shm::Algorithm::Direct);
        shm::Team team(std::move(config), membership);
        team.begin(call.fingerprint, 1, ample());
        if (rank == 1) {
            const uint64_t shown[] = {1, 0, 0};
            const uint64_t step = team.take(1);
            std::memcpy(team.stage(step, sizeof shown).data(), shown, sizeof shown);
            team.post(step);
            return;
        }
        try {
            shm::handler_for(call)(team, call);
            require(false, "it was read");
        } catch (const Error& error) {
            require(error.status().code == TUTTI_ERR_BACKEND, error.what());
            require(error.status().rank == 1, "whose data they are");
        }
    });
}

void a_call_whose_turn_comes_after_a_failure_does_not_begin(void**) {
    ChannelWorld world(2);
    on_ranks(2, [&](int rank) {
        Membership& membership = world.membership(rank);
        shm::Team team(std::move(shm::bootstrap(membership, ample()).here), membership);
        if (rank == 1) return;
        membership.report({TUTTI_ERR_ABORTED, 0, 0, "rank 0 gave up"});
        try {
            team.begin(fingerprint(Barrier{}), 2, ample());
            require(false, "it began");
        } catch (const Error& error) {
            require(error.status().code == TUTTI_ERR_ABORTED, error.what());
        }
    });
}

}  // namespace

int main(int count, char** arguments) {
    choose_channel(count, arguments);
    const CMUnitTest tests[] = {
        TUTTI_TEST(more_addends_than_a_rank_can_have_are_refused),
        TUTTI_TEST(pieces_that_nobody_expects_are_refused),
        TUTTI_TEST(data_where_no_memory_is_are_refused),
        TUTTI_TEST(data_that_the_system_does_not_let_read_are_an_error_at_once),
        TUTTI_TEST(a_call_whose_turn_comes_after_a_failure_does_not_begin),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
