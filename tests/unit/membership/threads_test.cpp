// Ranks that are threads: how they meet, and meet again after they could not.
#include "membership/threads.hpp"

#include <future>

#include "base/error.hpp"
#include "membership/world.hpp"
#include "store/store.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;

Deadline ample() {
    return Deadline::after_ms(60'000);
}

void ranks_that_were_refused_may_meet_again_at_the_same_store(void**) {
    const auto store = make_hash_store();
    const auto come = [&store](int rank, const char* options) {
        return meet_threads(store, rank, 2, options, ample());
    };
    for (int round = 0; round < 10; ++round) {
        auto other = std::async(std::launch::async, come, 1, "options.reproducible is 1");
        TUTTI_EXPECT_ERROR(come(0, "options.reproducible is 0"), TUTTI_ERR_MISMATCH,
                           "is 1 on rank 1 and 0 on rank 0");
        TUTTI_EXPECT_ERROR(other.get(), TUTTI_ERR_MISMATCH, "is 1 on rank 1 and 0 on rank 0");
        // Rank 1 is there first: it must not find what the refused ones left.
        auto again = std::async(std::launch::async, come, 1, "options.reproducible is 0");
        const auto world = come(0, "options.reproducible is 0");
        assert_string_equal(again.get()->identity().c_str(), world->identity().c_str());
    }
}

void a_rank_0_that_was_alone_leaves_nothing_behind(void**) {
    const auto store = make_hash_store();
    TUTTI_EXPECT_ERROR(meet_threads(store, 0, 2, "", Deadline::after_ms(1)), TUTTI_ERR_TIMEOUT,
                       "rank 1");
    assert_int_equal(store->num_keys(ample()), 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(ranks_that_were_refused_may_meet_again_at_the_same_store),
        TUTTI_TEST(a_rank_0_that_was_alone_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
