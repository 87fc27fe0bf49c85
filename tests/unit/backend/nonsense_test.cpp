// Does a call end, and say whose fault it is, when a rank of the host shows what cannot be?
#include <cstring>
#include <vector>

#include "backend/shm/collectives.hpp"
#include "backend/shm/direct.hpp"
#include "backend/shm/meeting.hpp"
#include "ranks.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

// Rank 0 calls what rank 1 seems to call, which shows these words in the first line.
void expect_refused(const Collective& call, const std::vector<uint64_t>& words, bool shares,
                    const std::string& message) {
    World world(2);
    on_ranks(2, [&](int rank) {
        shm::Team team(std::move(shm::meet(world[rank], ample()).here), world[rank]);
        if (shares) {
            const Alloc alloc{1 << 20};
            team.begin(fingerprint(alloc), 1, ample());
            shm::alloc(team, alloc);
        }
        team.begin(fingerprint(call), 2, ample());
        if (rank == 1) {
            const size_t bytes = words.size() * sizeof(uint64_t);
            const uint64_t step = team.take(1);
            std::memcpy(team.stage(step, bytes).data(), words.data(), bytes);
            team.post(step);
            return;
        }
        try {
            shm::run(team, call);
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
    for (const uint64_t number : {uint64_t{AllReduceAddends::most_inputs} + 1, uint64_t{1} << 32}) {
        expect_refused(call, {number}, false, cat("rank 1 shows ", number, " addends"));
    }
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

}  // namespace

int main(int count, char** arguments) {
    choose_channel(count, arguments);
    const CMUnitTest tests[] = {
        TUTTI_TEST(more_addends_than_a_rank_can_have_are_refused),
        TUTTI_TEST(data_where_no_memory_is_are_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
