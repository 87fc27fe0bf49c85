#include "workers.hpp"

#include <algorithm>
#include <utility>

#include "base/thread.hpp"

namespace tutti {

Workers::Workers(size_t max, const char* name, std::function<void(size_t worker)> work)
    : name_(name), work_(std::move(work)), workers_(max) {}

void Workers::add() {
    const auto unused = std::ranges::find(workers_, false, &Worker::is_running);
    if (unused == workers_.end()) return;
    const auto number = static_cast<size_t>(unused - workers_.begin());
    try {
        if (unused->thread.joinable()) unused->thread.join();  // it has ended, or is about to
        unused->thread = start_thread(name_, [this, number] { work_(number); });
        unused->is_running = true;
    } catch (...) {
        if (std::ranges::none_of(workers_, &Worker::is_running)) throw;
    }
}

std::vector<std::thread> Workers::take() {
    std::vector<std::thread> threads;
    for (Worker& worker : workers_) threads.push_back(std::move(worker.thread));
    return threads;
}

}  // namespace tutti
