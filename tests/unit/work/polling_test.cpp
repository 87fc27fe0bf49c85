// Does a thread that waits for a work move it on where the work needs that, and is how a work ends
// settled once, before anybody learns of it?
#include "progress/source.hpp"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "support/unit.hpp"
#include "work/work.hpp"

namespace {

using namespace tutti;

Deadline ample() {
    return Deadline::after_ms(60'000);
}

// Finishes a work at the n-th poll.
class Countdown : public Source {
public:
    explicit Countdown(int polls) : left_(polls) {}
    std::shared_ptr<Work> work;  // set before the first poll
    std::vector<std::thread::id> threads;
    std::atomic<int> waiting{0};
    int began = 0;

    bool advance() noexcept override {
        threads.push_back(std::this_thread::get_id());
        if (--left_ != 0) return false;
        work->finish({});
        return true;
    }
    void begin_waiting() noexcept override {
        ++began;
        ++waiting;
    }
    void end_waiting() noexcept override { --waiting; }

private:
    int left_;
};

class PolledWork : public Work {
public:
    explicit PolledWork(std::shared_ptr<Source> progress) : progress_(std::move(progress)) {}

protected:
    [[nodiscard]] std::shared_ptr<Source> polled() const override { return progress_; }

private:
    const std::shared_ptr<Source> progress_;
};

std::shared_ptr<Work> polled(const std::shared_ptr<Countdown>& progress) {
    auto work = std::make_shared<PolledWork>(progress);
    progress->work = work;
    return work;
}

void let_go(Countdown& progress) {
    progress.work = nullptr;  // which holds it
}

void an_enqueued_work_is_not_done(void**) {
    Work work;
    assert_true(work.state() == Work::State::Running);
    work.enqueued();
    assert_true(work.state() == Work::State::Enqueued);
    assert_false(work.is_completed());
    assert_false(work.status().has_value());
    assert_false(work.wait(Deadline::after_ms(1)));
    work.finish({});
    assert_true(work.wait(Deadline::never()));
    work.enqueued();
    assert_true(work.state() == Work::State::Finished);
}

void who_waits_polls_on_its_own_thread(void**) {
    for (const int polls : {1, 10, 500}) {  // the last with rests
        const auto progress = std::make_shared<Countdown>(polls);
        const auto work = polled(progress);
        assert_true(work->wait(polls == 10 ? Deadline::never() : ample()));
        assert_int_equal(progress->threads.size(), polls);
        for (const auto thread : progress->threads) {
            assert_true(thread == std::this_thread::get_id());
        }
        assert_int_equal(progress->began, 1);
        assert_int_equal(progress->waiting, 0);
        let_go(*progress);
    }
}

void polling_ends_at_the_deadline(void**) {
    const auto progress = std::make_shared<Countdown>(-1);
    const auto work = polled(progress);
    assert_false(work->wait(Deadline::after_ms(5)));
    assert_false(Work::wait_any(std::vector{work, work}, Deadline::after_ms(5)).has_value());
    assert_true(progress->threads.size() > 1);
    assert_int_equal(progress->began, 2);  // once for all works that it moves
    assert_int_equal(progress->waiting, 0);
    let_go(*progress);
}

void wait_any_polls_for_those_that_need_it(void**) {
    const auto first = std::make_shared<Countdown>(1000);
    const auto second = std::make_shared<Countdown>(20);
    const std::vector works{std::make_shared<Work>(), polled(first), polled(second)};
    assert_int_equal(Work::wait_any(works, ample()).value(), 2);
    assert_int_equal(first->threads.size(), 20);
    let_go(*first);
    let_go(*second);
}

// A work that needs no polls, among one that is polled in vain.
void wait_any_wakes_while_it_polls(void**) {
    for (int turn = 0; turn < 50; ++turn) {
        const auto vain = std::make_shared<Countdown>(-1);
        const std::vector works{polled(vain), std::make_shared<Work>()};
        std::thread finisher([&] { works[1]->finish({}); });
        assert_int_equal(Work::wait_any(works, ample()).value_or(99), 1);
        finisher.join();
        let_go(*vain);
    }
}

// Notes the order of what happens when it ends.
class SettledWork : public Work {
public:
    explicit SettledWork(std::vector<std::string>& notes) : notes_(notes) {}

protected:
    [[nodiscard]] std::string describe() const override { return "recv"; }
    Afterwards settle(Status& status) noexcept override {
        notes_.push_back(cat(is_completed() ? "done: " : "running: ", status.message));
        status.message += ", settled";
        finish({TUTTI_ERR_BACKEND, -1, 0, "from within"});
        const auto note = [](void* self) noexcept {
            const auto& work = *static_cast<SettledWork*>(self);
            work.notes_.push_back(work.is_completed() ? "done" : "running");
        };
        return {note, this};
    }

private:
    std::vector<std::string>& notes_;
};

void how_it_ends_is_settled_once_before_anybody_knows(void**) {
    std::vector<std::string> notes;
    SettledWork work(notes);
    work.finish({TUTTI_ERR_BACKEND, 2, 0, "lost"});
    work.finish({TUTTI_ERR_BACKEND, 3, 0, "again"});
    assert_true((notes == std::vector<std::string>{"running: recv: lost", "done"}));
    assert_string_equal(work.status()->message.c_str(), "recv: lost, settled");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(an_enqueued_work_is_not_done),
        TUTTI_TEST(who_waits_polls_on_its_own_thread),
        TUTTI_TEST(polling_ends_at_the_deadline),
        TUTTI_TEST(wait_any_polls_for_those_that_need_it),
        TUTTI_TEST(wait_any_wakes_while_it_polls),
        TUTTI_TEST(how_it_ends_is_settled_once_before_anybody_knows),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
