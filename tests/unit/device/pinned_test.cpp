// Is pinned memory kept for the next, up to a limit, and given to nobody while a device uses it?
#include "device/pinned.hpp"

#include <thread>
#include <utility>
#include <vector>

#include "support/unit.hpp"
#include "table.hpp"

namespace {

using tutti::device::Pinned;
using tutti::device::PinnedPool;
using namespace tutti::device::test;

constexpr size_t mebibyte = size_t{1} << 20;

// Memory that is not kept is freed by a thread of its own, so this waits.
void expect_the_rest_freed(const PinnedPool& pool, size_t before) {
    while (device().bytes - before != pool.unused_bytes()) std::this_thread::yield();
}

void memory_is_as_large_as_wanted(void**) {
    PinnedPool pool(driver());
    const size_t before = device().bytes;
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{65536}, size_t{65537}, mebibyte + 1,
                               PinnedPool::max_unused, PinnedPool::max_unused + 1}) {
        const Pinned memory = pool.take(0, bytes);
        assert_true(memory.size() >= bytes && memory.data() != nullptr);
        assert_int_equal(reinterpret_cast<uintptr_t>(memory.data()) % 4096, 0);
    }
    expect_the_rest_freed(pool, before);
}

void memory_that_is_given_back_serves_the_next(void**) {
    PinnedPool pool(driver());
    const std::byte* const first = pool.take(0, 1000).data();
    assert_true(pool.unused_bytes() > 0);
    const int pieces = device().pieces;
    const Pinned again = pool.take(1, 50000);  // of any device
    assert_ptr_equal(again.data(), first);
    assert_int_equal(device().pieces, pieces);
    assert_int_equal(pool.unused_bytes(), 0);
    const Pinned other = pool.take(0, 50000);
    assert_ptr_not_equal(other.data(), first);
}

void memory_goes_with_who_has_it_last(void**) {
    PinnedPool pool(driver());
    Pinned first = pool.take(0, 1000);
    const std::byte* const data = first.data();
    Pinned second = std::move(first);
    assert_int_equal(pool.unused_bytes(), 0);
    assert_ptr_equal(second.data(), data);
    second = Pinned();
    assert_true(pool.unused_bytes() > 0);
}

void memory_in_use_is_given_to_nobody(void**) {
    PinnedPool pool(driver());
    const Recorded use;
    Pinned memory = pool.take(0, 1000);
    const std::byte* const first = memory.data();
    memory.used_until(use.event);
    memory = Pinned();
    std::vector<Pinned> others;
    for (int i = 0; i < 5; ++i) {
        others.push_back(pool.take(0, 1000));
        assert_ptr_not_equal(others.back().data(), first);
    }
    use.pass();
    assert_ptr_equal(pool.take(0, 1000).data(), first);
}

void memory_of_a_lost_device_is_free(void**) {
    PinnedPool pool(driver());
    const Recorded use;
    Pinned memory = pool.take(0, 1000);
    const std::byte* const first = memory.data();
    memory.used_until(use.event);
    device().is_lost = true;
    memory = Pinned();
    const Pinned next = pool.take(0, 1000);
    device().is_lost = false;
    assert_ptr_equal(next.data(), first);
}

void unused_memory_is_bounded(void**) {
    PinnedPool pool(driver());
    const size_t before = device().bytes;
    {
        std::vector<Pinned> many;
        for (int i = 0; i < 40; ++i) many.push_back(pool.take(0, 8 * mebibyte));
        assert_true(device().bytes >= before + 320 * mebibyte);
    }
    assert_true(pool.unused_bytes() <= PinnedPool::max_unused);
    expect_the_rest_freed(pool, before);
    { const Pinned large = pool.take(0, PinnedPool::max_unused + 1); }
    expect_the_rest_freed(pool, before);  // it is never kept
}

// Also when it was in use as it was given back.
void memory_that_was_in_use_is_bounded(void**) {
    PinnedPool pool(driver());
    const size_t before = device().bytes;
    const Recorded use;
    {
        std::vector<Pinned> many;
        for (int i = 0; i < 40; ++i) {
            many.push_back(pool.take(0, 8 * mebibyte));
            many.back().used_until(use.event);
        }
    }
    use.pass();
    { const Pinned next = pool.take(0, 1); }
    assert_true(pool.unused_bytes() <= PinnedPool::max_unused);
    expect_the_rest_freed(pool, before);
}

void memory_that_is_not_to_be_had_is_an_error(void**) {
    PinnedPool pool(driver());
    device().has_memory = false;
    TUTTI_EXPECT_ERROR(pool.take(0, 1000), TUTTI_ERR_OUT_OF_MEMORY,
                       "there is no pinned memory left");
    device().has_memory = true;
    assert_non_null(pool.take(0, 1000).data());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(memory_is_as_large_as_wanted),
        TUTTI_TEST(memory_that_is_given_back_serves_the_next),
        TUTTI_TEST(memory_goes_with_who_has_it_last),
        TUTTI_TEST(memory_in_use_is_given_to_nobody),
        TUTTI_TEST(memory_of_a_lost_device_is_free),
        TUTTI_TEST(unused_memory_is_bounded),
        TUTTI_TEST(memory_that_was_in_use_is_bounded),
        TUTTI_TEST(memory_that_is_not_to_be_had_is_an_error),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
