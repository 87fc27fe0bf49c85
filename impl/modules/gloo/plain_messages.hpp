// Messages of groups with PyTorch's ranks are as ProcessGroupGloo sends them: bytes under their
// tag, without a frame. A thread waits for each that is under way. post() may be called on any
// thread.
#pragma once

#include <gloo/context.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gate.hpp"

namespace tutti::gloo_module {

// Runs each job on a thread of its own, which later jobs use again.
class Waiters {
public:
    ~Waiters();
    void add(std::function<void()> job);

private:
    void run();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> jobs_;
    size_t idle_ = 0;
    bool is_closed_ = false;
    std::vector<std::thread> threads_;
};

class PlainMessages {
public:
    PlainMessages(const tutti_backend_place& place, std::shared_ptr<gloo::Context> context)
        : host_(*place.host), rank_(place.rank), size_(place.size), context_(std::move(context)) {}

    void post(const tutti_backend_call* call);

private:
    void wait(const tutti_backend_call* call, gloo::transport::UnboundBuffer& buffer);

    const tutti_backend_host& host_;
    const int rank_, size_;
    const std::shared_ptr<gloo::Context> context_;
    Waiters waiters_;
};

}  // namespace tutti::gloo_module
