// The signs of another process: that it ends, and whether it runs. And notes between processes.
#include "net/process_watch.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "net/descriptor.hpp"
#include "net/loop.hpp"
#include "net/mailbox.hpp"
#include "support/freezer.h"
#include "support/unit.hpp"

namespace {

using tutti::net::Loop;
using tutti::net::Mailbox;
using tutti::net::this_thread;
using tutti::net::ThreadId;
using tutti::net::ThreadWatch;

template <typename Condition>
void await(Condition&& condition) {
    constexpr int look_again_ms = 1;
    constexpr int patience = 60'000;
    for (int look = 0; !condition(); ++look) {
        if (look == patience) fail_msg("it has not come true for a minute");
        ::poll(nullptr, 0, look_again_ms);
    }
}

// A process of one thread, which wakes every millisecond, or never rests.
class Process {
public:
    explicit Process(bool rests) {
        int ends[2];
        assert_int_equal(::pipe(ends), 0);
        pid = ::fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            const ThreadId own = this_thread();
            (void)!::write(ends[1], &own, sizeof own);
            for (;;) {
                if (rests) ::poll(nullptr, 0, 1);
            }
        }
        ::close(ends[1]);
        assert_int_equal(::read(ends[0], &id, sizeof id), sizeof id);
        ::close(ends[0]);
    }
    ~Process() { end(); }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    void end() {
        if (pid == 0) return;
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        pid = 0;
    }
    void stop() const {
        ::kill(pid, SIGSTOP);
        int status = 0;
        assert_int_equal(::waitpid(pid, &status, WUNTRACED), pid);
        assert_true(WIFSTOPPED(status));
    }

    pid_t pid = 0;
    ThreadId id;
};

bool cannot_watch() {
    const bool cannot = this_thread() == ThreadId{};
    if (cannot) print_message("skipped: this system lets nobody watch a process\n");
    return cannot;
}

// A watch, used on its loop's thread.
class Watched {
public:
    explicit Watched(const ThreadId& id) {
        loop_.run([&] { watch_.emplace(loop_, id, [this] { ended = true; }); });
    }
    ~Watched() {
        loop_.run([&] { watch_.reset(); });
    }
    bool has_run() {
        bool has = false;
        loop_.run([&] { has = watch_->has_run(); });
        return has;
    }
    bool wants_to_run() {
        bool wants = false;
        loop_.run([&] { wants = watch_->wants_to_run(); });
        return wants;
    }
    // For far longer than the processes above do. One that stops tells of it while it still runs.
    bool rests() {
        const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
        while (std::chrono::steady_clock::now() < until) {
            if (has_run()) return false;
        }
        return true;
    }
    std::atomic<bool> ended{false};

private:
    Loop loop_{"watch"};
    std::optional<ThreadWatch> watch_;
};

void a_process_that_ends_is_told(void**) {
    if (cannot_watch()) skip();
    Process process(true);
    Watched watched(process.id);
    await([&] { return watched.has_run(); });
    assert_false(watched.ended);
    process.end();
    await([&] { return watched.ended.load(); });
    assert_false(watched.has_run());
    assert_false(watched.wants_to_run());
}

void a_stopped_process_does_not_run(void**) {
    if (cannot_watch()) skip();
    for (const bool rests : {true, false}) {
        Process process(rests);
        Watched watched(process.id);
        if (!rests) await([&] { return watched.wants_to_run(); });
        process.stop();
        await([&] { return watched.rests(); });
        assert_false(watched.wants_to_run());
        ::kill(process.pid, SIGCONT);
        await([&] { return watched.has_run(); });
        assert_false(watched.ended);
    }
}

void a_frozen_process_does_not_run(void**) {
    if (cannot_watch()) skip();
    const freezer group = freezer_make();
    if (group.version == 0) {
        print_message("skipped: no control group can be made here\n");
        skip();
    }
    for (const bool rests : {true, false}) {
        Process process(rests);
        assert_true(freezer_take(&group, process.pid));
        Watched watched(process.id);
        assert_true(freezer_freeze(&group, 1));
        await([&] { return freezer_is_frozen(&group); });
        await([&] { return watched.rests(); });
        assert_false(watched.wants_to_run());
        assert_true(freezer_freeze(&group, 0));
        await([&] { return watched.has_run(); });
    }
    await([&] { return freezer_remove(&group); });
}

void another_process_of_that_number_is_not_watched(void**) {
    if (cannot_watch()) skip();
    Process process(true);
    ThreadId before = process.id;
    ++before.started;
    Loop loop("watch");
    const auto watch = [&](const ThreadId& id) {
        loop.run([&] { const ThreadWatch there(loop, id, [] {}); });
    };
    watch(process.id);
    TUTTI_EXPECT_ERROR(watch(before), TUTTI_ERR_UNSUPPORTED, "cannot be watched");
    process.end();
    TUTTI_EXPECT_ERROR(watch(process.id), TUTTI_ERR_UNSUPPORTED, "cannot be watched");
}

void a_note_arrives(void**) {
    Loop loop("mail");
    std::promise<std::string> got;
    std::unique_ptr<Mailbox> from;
    std::unique_ptr<Mailbox> to;
    std::vector<bool> sent;
    loop.run([&] {
        from = std::make_unique<Mailbox>(loop, [](std::string_view) {});
        to = std::make_unique<Mailbox>(
            loop, [&](std::string_view note) { got.set_value(std::string(note)); });
        assert_string_not_equal(from->name().c_str(), to->name().c_str());
        sent = {from->send(to->name(), "a note"), from->send("", "nobody"),
                from->send("nobody has this name", "nobody")};
    });
    assert_string_equal(got.get_future().get().c_str(), "a note");
    loop.run([&] {
        const std::string name = to->name();
        to.reset();
        sent.push_back(from->send(name, "too late"));
        from.reset();
    });
    assert_true(sent[0]);
    assert_false(sent[1] || sent[2]);
    assert_true(sent.size() == 4);
}

// A process that does not read them does not hold up the writer.
void a_full_mailbox_takes_nothing_more_and_is_no_failure(void**) {
    Loop loop("mail");
    bool sent = true;
    loop.run([&] {
        const Mailbox mailbox(loop, [](std::string_view) {});
        for (int note = 0; note < 10'000; ++note) sent = sent && mailbox.send(mailbox.name(), "?");
    });
    assert_true(sent);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_process_that_ends_is_told),
        TUTTI_TEST(a_stopped_process_does_not_run),
        TUTTI_TEST(a_frozen_process_does_not_run),
        TUTTI_TEST(another_process_of_that_number_is_not_watched),
        TUTTI_TEST(a_note_arrives),
        TUTTI_TEST(a_full_mailbox_takes_nothing_more_and_is_no_failure),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
