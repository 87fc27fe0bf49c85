// The loop thread: runs posted tasks, and at the end closes every handle that is still open. The
// queue of tasks is the one thing that other threads touch.
#include "loop.hpp"

#include <sched.h>
#include <uv.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <thread>
#include <vector>

#include "base/assert.hpp"
#include "base/mutex.hpp"
#include "base/open_descriptors.hpp"
#include "base/thread.hpp"
#include "handle.hpp"
#include "line.hpp"

namespace tutti::net {
namespace {

constexpr size_t read_buffer_bytes = size_t{64} * 1024;
constexpr size_t max_thread_name = 15;  // the kernel's limit

// libuv's first loop ends the process by abort() if it gets no descriptors for its signals, so
// there must be enough before it is made.
void check_descriptors() {
    constexpr int of_a_loop = 8;
    if (const int number = exhaustion_of_descriptors(of_a_loop); number != 0)
        throw system_error(TUTTI_ERR_NETWORK, "making an event loop", number);
}

}  // namespace

struct Loop::State {
    uv_loop_t loop{};
    uv_async_t wake{};
    std::vector<std::byte> read_buffer = std::vector<std::byte>(read_buffer_bytes);
    std::thread thread;
    bool gathers = false;
    std::vector<std::weak_ptr<Watched>> watched;
    std::unique_ptr<Timer> looks;  // while there are any

    Mutex mutex;
    std::deque<std::function<void()>> tasks TUTTI_GUARDED_BY(mutex);
    bool stopping TUTTI_GUARDED_BY(mutex) = false;

    // True when the loop is to stop and nothing is left to run.
    bool run_tasks() noexcept {
        while (true) {
            std::function<void()> task;
            {
                const Lock lock(mutex);
                if (tasks.empty()) return stopping;
                task = std::move(tasks.front());
                tasks.pop_front();
            }
            task();
        }
    }

    // All are looked at before one is told of its end, which may end others.
    void look() noexcept {
        std::vector<std::shared_ptr<Watched>> dead;
        std::erase_if(watched, [&](const std::weak_ptr<Watched>& one) {
            auto connection = one.lock();
            if (!connection || connection->is_over()) return true;
            if (connection->is_dead()) dead.push_back(std::move(connection));
            return false;
        });
        if (watched.empty()) looks->stop();
        for (const auto& connection : dead) connection->end_dead();
    }

    void close_everything() noexcept {
        uv_walk(
            &loop,
            [](uv_handle_t* raw, void* own) {
                if (raw == own)
                    uv_close(raw, nullptr);
                else
                    static_cast<Handle*>(raw->data)->close();
            },
            &wake);
    }

    // Returns libuv's result.
    int open() {
        const Opening opening;
        int result = uv_loop_init(&loop);
        if (result < 0) return result;
        result = uv_async_init(&loop, &wake, [](uv_async_t* woken) {
            auto* state = static_cast<State*>(woken->data);
            if (state->run_tasks()) state->close_everything();
        });
        if (result < 0) uv_loop_close(&loop);
        return result;
    }

    void run() noexcept {
        uv_run(&loop, UV_RUN_DEFAULT);
        TUTTI_ASSERT(uv_loop_close(&loop) == 0);
    }
};

std::shared_ptr<Loop> Loop::shared() {
    static Mutex mutex;
    static std::weak_ptr<Loop> current;
    const Lock lock(mutex);
    auto loop = current.lock();
    if (!loop) current = loop = std::make_shared<Loop>("tutti-control");
    return loop;
}

Loop::Loop(std::string thread_name) : state_(std::make_unique<State>()) {
    check_descriptors();
    check_uv(state_->open(), "making an event loop");
    state_->wake.data = state_.get();
    thread_name.resize(std::min(thread_name.size(), max_thread_name));
    try {
        const auto run = [state = state_.get()] { state->run(); };
        state_->thread = start_thread(thread_name.c_str(), run);
    } catch (...) {
        uv_close(reinterpret_cast<uv_handle_t*>(&state_->wake), nullptr);
        state_->run();
        throw;
    }
}

Loop::~Loop() {
    TUTTI_ASSERT(!on_thread());
    {
        const Lock lock(state_->mutex);
        state_->stopping = true;
        uv_async_send(&state_->wake);
    }
    state_->thread.join();
}

void Loop::post(std::function<void()> task) {
    const Lock lock(state_->mutex);
    state_->tasks.push_back(std::move(task));
    uv_async_send(&state_->wake);
}

void Loop::run(std::function<void()> task) {
    TUTTI_ASSERT(!on_thread());
    Mutex mutex;
    Condition condition;
    bool done = false;
    std::exception_ptr thrown;
    post([&] {
        try {
            task();
        } catch (...) {
            thrown = std::current_exception();
        }
        // Notified under the lock: the waiter's stack, with the condition, is gone soon after.
        const Lock lock(mutex);
        done = true;
        condition.notify_all();
    });
    {
        Lock lock(mutex);
        while (!done) condition.wait(lock);
    }
    if (thrown) std::rethrow_exception(thrown);
}

bool Loop::on_thread() const {
    return state_->thread.get_id() == std::this_thread::get_id();
}

void Loop::let_gather(bool gather) {
    TUTTI_ASSERT(on_thread());
    if (gather == state_->gathers) return;
    // A policy that the program has chosen for its threads stays. 0: this thread.
    const int from = gather ? SCHED_OTHER : SCHED_BATCH;
    const int to = gather ? SCHED_BATCH : SCHED_OTHER;
    const sched_param none{};
    state_->gathers = gather;
    if (::sched_getscheduler(0) == from) (void)::sched_setscheduler(0, to, &none);
}

uv_loop_s* Loop::native() {
    return &state_->loop;
}

std::span<std::byte> Loop::read_buffer() {
    return state_->read_buffer;
}

void Loop::watch(const std::shared_ptr<Watched>& connection) {
    TUTTI_ASSERT(on_thread());
    State& state = *state_;
    if (!state.looks) state.looks = std::make_unique<Timer>(*this, [&state] { state.look(); });
    if (state.watched.empty()) state.looks->start(line_look_ms(), line_look_ms());
    state.watched.push_back(connection);
}

}  // namespace tutti::net
