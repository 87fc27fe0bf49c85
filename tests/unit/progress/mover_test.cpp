// Is what nobody waits for moved, and nothing that somebody waits for; does a mover that sleeps
// begin when it is called, and end in time?
#include "progress/mover.hpp"

#include <atomic>
#include <future>
#include <thread>

#include "support/unit.hpp"

namespace {

using namespace tutti;

class Load : public Mover::Owner {
public:
    explicit Load(int64_t tick_ms = -1) : mover(mutex, *this, tick_ms) {}
    ~Load() {
        std::thread thread;
        {
            const Lock lock(mutex);
            thread = mover.end();
        }
        if (thread.joinable()) thread.join();
    }
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;

    void start() {
        const Lock lock(mutex);
        mover.start();
    }
    void add(int some) {
        const Lock lock(mutex);
        left += some;
        mover.note_new();
        mover.notify();
    }
    void await_end() const {
        while (left > 0) std::this_thread::yield();
    }
    void await_park() const {
        while (!mover.needs_notice()) std::this_thread::yield();
    }

    [[nodiscard]] Attention::Seen seen() noexcept override {
        return {.has_some = left > 0, .waiting = waiting, .waits = waits};
    }
    std::optional<Deadline> move() noexcept override {
        ++moves;
        if (left > 0) --left;
        return std::nullopt;
    }

    Mutex mutex;
    std::atomic<int> left{0};
    std::atomic<int> moves{0};
    std::atomic<int> waiting{0};
    std::atomic<uint64_t> waits{0};
    Mover mover;
};

void it_moves_what_nobody_waits_for(void**) {
    Load load;
    load.start();
    for (const int some : {1, 10, 100}) {
        load.await_park();
        load.add(some);
        load.await_end();
    }
    assert_int_equal(load.moves, 111);
}

void it_moves_nothing_while_a_thread_waits_and_all_that_it_leaves(void**) {
    Load load;
    load.waiting = 1;
    load.waits = 1;
    load.start();
    load.add(3);
    load.await_park();
    assert_int_equal(load.moves, 0);
    {
        const Lock lock(load.mutex);
        load.waiting = 0;
        load.mover.notify();
    }
    load.await_end();
    assert_int_equal(load.moves, 3);
}

void a_call_begins_at_once_though_nothing_is_there(void**) {
    Load load;
    load.start();
    load.await_park();
    {
        const Lock lock(load.mutex);
        load.mover.call();
    }
    while (load.moves == 0) std::this_thread::yield();
    load.await_park();
    assert_int_equal(load.moves, 1);
    assert_false(load.mover.is_called());
}

void after_a_tick_without_calls_it_looks(void**) {
    Load load(1);
    load.start();
    while (load.moves < 3) std::this_thread::yield();
}

void it_ends_wherever_it_is(void**) {
    for (int round = 0; round < 100; ++round) {
        Load load;
        load.start();
        if (round % 3 == 1) load.add(1000);
        if (round % 3 == 2) load.await_park();
    }
    const Load never_started;
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(it_moves_what_nobody_waits_for),
        TUTTI_TEST(it_moves_nothing_while_a_thread_waits_and_all_that_it_leaves),
        TUTTI_TEST(a_call_begins_at_once_though_nothing_is_there),
        TUTTI_TEST(after_a_tick_without_calls_it_looks),
        TUTTI_TEST(it_ends_wherever_it_is),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
