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
    const auto join = [&store](int rank, const char* options) {
        return bootstrap_threads(store, rank, 2, options, ample());
    };
    for (int round = 0; round < 10; ++round) {
        auto other = std::async(std::launch::async, join, 1, "options.reproducible is 1");
        TUTTI_EXPECT_ERROR(join(0, "options.reproducible is 0"), TUTTI_ERR_MISMATCH,
                           "is 1 on rank 1 and 0 on rank 0");
        TUTTI_EXPECT_ERROR(other.get(), TUTTI_ERR_MISMATCH, "is 1 on rank 1 and 0 on rank 0");
        // Rank 1 is there first: it must not find what the refused ones left.
        auto again = std::async(std::launch::async, join, 1, "options.reproducible is 0");
        const auto world = join(0, "options.reproducible is 0");
        assert_string_equal(again.get()->identity().c_str(), world->identity().c_str());
    }
}

void a_rank_0_that_was_alone_leaves_nothing_behind(void**) {
    const auto store = make_hash_store();
    TUTTI_EXPECT_ERROR(bootstrap_threads(store, 0, 2, "", Deadline::after_ms(1)), TUTTI_ERR_TIMEOUT,
                       "rank 1");
    assert_int_equal(store->num_keys(ample()), 0);
}

// It may come again; until it does, it is missing.
void a_rank_that_gave_up_has_not_come(void**) {
    const auto store = make_hash_store();
    const auto join = [&store](int rank, const Deadline& deadline) {
        return bootstrap_threads(store, rank, 3, "", deadline);
    };
    auto first = std::async(std::launch::async, join, 0, ample());
    store->get("loopback/hub", ample());
    TUTTI_EXPECT_ERROR(join(1, Deadline::after_ms(5)), TUTTI_ERR_TIMEOUT, "rank 2");
    TUTTI_EXPECT_ERROR(join(2, Deadline::after_ms(5)), TUTTI_ERR_TIMEOUT, "rank 1");
    auto again = std::async(std::launch::async, join, 1, ample());
    const auto last = join(2, ample());
    assert_string_equal(first.get()->identity().c_str(), last->identity().c_str());
    assert_string_equal(again.get()->identity().c_str(), last->identity().c_str());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(ranks_that_were_refused_may_meet_again_at_the_same_store),
        TUTTI_TEST(a_rank_0_that_was_alone_leaves_nothing_behind),
        TUTTI_TEST(a_rank_that_gave_up_has_not_come),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
