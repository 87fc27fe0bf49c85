// Is a polled backend asked to move on: by who waits, by a thread when nobody does, by one at a
// time, and never again once it is closed?
#include "group/poller.hpp"

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "backend/backend.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;

class Polled : public Backend {
public:
    std::function<bool()> on_test;
    std::atomic<int> tests{0};
    std::atomic<int> inside{0};
    std::atomic<int> overlaps{0};

    bool test() noexcept override {
        if (++inside != 1) ++overlaps;
        ++tests;
        const bool moved = on_test && on_test();
        --inside;
        return moved;
    }

    [[nodiscard]] const char* name() const override { return "polled"; }
    [[nodiscard]] const Capabilities& capabilities() const override { return can_; }
    void post(Request /*request*/, std::shared_ptr<Work> /*work*/) override {}
    void abort(const Status& /*status*/) noexcept override {}
    void leave() noexcept override {}

private:
    const Capabilities can_{};
};

void a_thread_polls_for_what_nobody_waits_for(void**) {
    Polled backend;
    std::promise<std::thread::id> polled;
    backend.on_test = [&, told = false]() mutable {
        if (backend.tests == 300 && !std::exchange(told, true)) {  // after some rests
            polled.set_value(std::this_thread::get_id());
        }
        return false;
    };
    Poller poller(backend);
    poller.begin_background();
    assert_true(polled.get_future().get() != std::this_thread::get_id());
    poller.end_background();
    poller.close();
}

void nobody_polls_without_operations(void**) {
    Polled backend;
    {
        Poller poller(backend);
        poller.close();
    }
    assert_int_equal(backend.tests, 0);
}

void the_thread_leaves_it_to_those_who_wait(void**) {
    Polled backend;
    std::atomic<int> by_others{0};
    backend.on_test = [&, me = std::this_thread::get_id()] {
        if (std::this_thread::get_id() != me) ++by_others;
        return false;
    };
    Poller poller(backend);
    poller.begin_waiting();
    poller.begin_background();
    while (backend.tests < 1000) poller.poll();
    assert_int_equal(by_others, 0);
    poller.end_waiting();
    while (by_others == 0) std::this_thread::yield();
    poller.end_background();
    poller.close();
}

void one_thread_polls_at_a_time(void**) {
    Polled backend;
    backend.on_test = [] {
        std::this_thread::yield();
        return true;
    };
    Poller poller(backend);
    poller.begin_background();
    std::vector<std::thread> threads;
    for (int index = 0; index < 4; ++index) {
        threads.emplace_back([&] {
            for (int turn = 0; turn < 2000; ++turn) poller.poll();
        });
    }
    for (std::thread& thread : threads) thread.join();
    poller.end_background();
    poller.close();
    assert_int_equal(backend.overlaps, 0);
}

void a_closed_one_leaves_the_backend_alone(void**) {
    auto backend = std::make_unique<Polled>();
    Poller poller(*backend);
    poller.begin_background();
    std::atomic<bool> over{false};
    std::thread late([&] {
        while (!over) poller.poll();
    });
    while (backend->tests == 0) std::this_thread::yield();
    poller.end_background();
    poller.close();
    backend.reset();
    for (int turn = 0; turn < 100; ++turn) assert_false(poller.poll());
    over = true;
    late.join();
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_thread_polls_for_what_nobody_waits_for),
        TUTTI_TEST(nobody_polls_without_operations),
        TUTTI_TEST(the_thread_leaves_it_to_those_who_wait),
        TUTTI_TEST(one_thread_polls_at_a_time),
        TUTTI_TEST(a_closed_one_leaves_the_backend_alone),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
