// Is a polled backend asked to move on: by who waits, by a thread when nobody does, by one at a
// time, and never again once it is closed? Is one that runs alone, which the thread looks at now
// and then?
#include "group/poller.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "backend/backend.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;

class Polled : public Backend {
public:
    explicit Polled(bool runs_alone = false) : runs_alone_(runs_alone) {}

    std::function<bool()> on_test;
    std::function<void()> after_look;  // of the thread, before its rest
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
    [[nodiscard]] bool runs_alone() const noexcept override {
        if (after_look) after_look();
        return runs_alone_;
    }

    [[nodiscard]] const char* name() const override { return "polled"; }
    [[nodiscard]] const Capabilities& capabilities() const override { return can_; }
    void post(Request /*request*/, std::shared_ptr<Work> /*work*/) override {}
    void abort(const Status& /*status*/) noexcept override {}
    void leave() noexcept override {}

private:
    const bool runs_alone_;
    const Capabilities can_{};
};

// A backend that runs alone, and an operation of it at a time, which ends by itself: a look sees
// that. Only the thread looks.
struct Alone {
    Polled backend{true};
    std::atomic<bool> has_ended{false};  // and nobody has seen it

    Alone() {
        backend.on_test = [this] { return has_ended.exchange(false); };
    }
    void end_and_be_seen(Poller& poller) {
        has_ended = true;
        while (has_ended) std::this_thread::yield();
        poller.end_background();
    }
};

// The thread is in another place of its looks, rests and sleep each time. On a busy machine one
// yield may take longer than all this.
void let_it_go_on(int round) {
    const Deadline end =
        Deadline::at(Deadline::Clock::now() + round * std::chrono::microseconds(20));
    while (!end.expired()) std::this_thread::yield();
}

void polls_for_what_nobody_waits_for(bool runs_alone) {
    Polled backend(runs_alone);
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

void a_thread_polls_for_what_nobody_waits_for(void**) {
    for (const bool runs_alone : {false, true}) polls_for_what_nobody_waits_for(runs_alone);
}

void nobody_polls_without_operations(void**) {
    Polled backend;
    {
        Poller poller(backend);
        poller.close();
    }
    assert_int_equal(backend.tests, 0);
}

void leaves_it_to_those_who_wait(bool runs_alone) {
    Polled backend(runs_alone);
    std::atomic<int> by_others{0};
    backend.on_test = [&, me = std::this_thread::get_id()] {
        if (std::this_thread::get_id() != me) ++by_others;
        return false;
    };
    Poller poller(backend);
    poller.begin_waiting();
    poller.begin_background();
    while (backend.tests < 1000) poller.advance();
    assert_int_equal(by_others, 0);
    poller.end_waiting();
    while (by_others == 0) std::this_thread::yield();
    poller.end_background();
    poller.close();
}

void the_thread_leaves_it_to_those_who_wait(void**) {
    for (const bool runs_alone : {false, true}) leaves_it_to_those_who_wait(runs_alone);
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
            for (int turn = 0; turn < 2000; ++turn) poller.advance();
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
        while (!over) poller.advance();
    });
    while (backend->tests == 0) std::this_thread::yield();
    poller.end_background();
    poller.close();
    backend.reset();
    for (int turn = 0; turn < 100; ++turn) assert_false(poller.advance());
    over = true;
    late.join();
}

void the_thread_sees_the_ends_of_what_runs_alone(void**) {
    Alone alone;
    Poller poller(alone.backend);
    for (int round = 0; round < 100; ++round) {
        poller.begin_background();
        let_it_go_on(round);
        alone.end_and_be_seen(poller);
    }
    poller.close();
}

void an_operation_that_begins_while_the_thread_rests_is_seen(void**) {
    Alone alone;
    Poller poller(alone.backend);
    for (int round = 0; round < 100; ++round) {
        let_it_go_on(round);
        poller.begin_background();
        alone.end_and_be_seen(poller);
    }
    poller.close();
}

void an_operation_that_begins_after_a_look_and_before_the_rest_is_seen(void**) {
    Alone alone;
    std::promise<void> looked;
    std::promise<void> begun;
    alone.backend.after_look = [&, is_first = true]() mutable {
        if (!std::exchange(is_first, false)) return;
        looked.set_value();
        begun.get_future().get();
    };
    Poller poller(alone.backend);
    poller.begin_background();
    looked.get_future().get();
    poller.end_background();
    poller.begin_background();
    begun.set_value();
    alone.end_and_be_seen(poller);
    poller.close();
}

void a_thread_that_rests_ends_when_it_is_closed(void**) {
    for (int round = 0; round < 100; ++round) {
        Alone alone;
        Poller poller(alone.backend);
        poller.begin_background();
        alone.end_and_be_seen(poller);
        let_it_go_on(round);
        poller.close();
        assert_false(poller.advance());
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_thread_polls_for_what_nobody_waits_for),
        TUTTI_TEST(nobody_polls_without_operations),
        TUTTI_TEST(the_thread_leaves_it_to_those_who_wait),
        TUTTI_TEST(one_thread_polls_at_a_time),
        TUTTI_TEST(a_closed_one_leaves_the_backend_alone),
        TUTTI_TEST(the_thread_sees_the_ends_of_what_runs_alone),
        TUTTI_TEST(an_operation_that_begins_while_the_thread_rests_is_seen),
        TUTTI_TEST(an_operation_that_begins_after_a_look_and_before_the_rest_is_seen),
        TUTTI_TEST(a_thread_that_rests_ends_when_it_is_closed),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
