// Threads that do the same, each until it finds nothing more to do: then it ends, and is started
// anew when there is more. Not thread-safe: the lock of the owner guards it.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace tutti {

class Workers {
public:
    // `work` runs on each thread, without the lock, and gets the number of the thread.
    Workers(size_t max, const char* name, std::function<void(size_t worker)> work);

    // One more works, unless all do. Throws if none does and there can be no thread.
    void add();
    // By the thread itself: it takes the lock no more and ends.
    void end(size_t worker) { workers_[worker].is_running = false; }
    // All threads, to be joined without the lock. None may be added any more.
    [[nodiscard]] std::vector<std::thread> take();

private:
    struct Worker {
        std::thread thread{};
        bool is_running = false;
    };

    const char* const name_;
    const std::function<void(size_t worker)> work_;
    std::vector<Worker> workers_;
};

}  // namespace tutti
