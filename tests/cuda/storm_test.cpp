// Threads that use streams, events and memory rightly, and hand them to each other: every byte must
// come out, and the double has nothing to report.
#include "device.hpp"

#include <condition_variable>
#include <mutex>
#include <queue>
#include <random>
#include <thread>
#include <vector>

using namespace tutti::cuda;
using namespace tutti::cuda::test;

constexpr int threads = 4;
constexpr int rounds = 200;

// A token goes from thread to thread: whoever has it knows that the device is done with it.
struct Buffers {
    DevicePointer device = 0;
    void* pinned = nullptr;
};

class Pool {
public:
    void put(Buffers buffers) {
        const std::lock_guard lock(mutex_);
        free_.push(buffers);
        changed_.notify_one();
    }
    Buffers take() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !free_.empty(); });
        const Buffers buffers = free_.front();
        free_.pop();
        return buffers;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::queue<Buffers> free_;
};

struct Streams {
    Stream writing = new_stream();
    Stream copying = new_stream();
    Event written = new_event();
    Event copied = new_event();
};

static void wait_for(Event event, bool polls) {
    if (!polls) {
        TUTTI_WORKS(cuda.event_synchronize(event));
        return;
    }
    Result result = Result::NotReady;
    while ((result = cuda.event_query(event)) == Result::NotReady) std::this_thread::yield();
    TUTTI_WORKS(result);
}

static void round(const Streams& on, Pool& pool, std::mt19937& random) {
    const Buffers buffers = pool.take();
    const auto value = static_cast<unsigned char>(random());
    const size_t offset = random() % (bytes / 2);
    auto* const pinned = static_cast<unsigned char*>(buffers.pinned);
    pinned[0] = pinned[bytes - 1] = static_cast<unsigned char>(value + 1);
    TUTTI_WORKS(cuda.copy_async(buffers.device, number_of(pinned), bytes, on.writing));
    TUTTI_WORKS(cuda.set_async(buffers.device + offset, value, bytes / 2, on.writing));
    TUTTI_WORKS(cuda.event_record(on.written, on.writing));
    TUTTI_WORKS(cuda.stream_wait_event(on.copying, on.written, 0));
    TUTTI_WORKS(cuda.copy_async(number_of(pinned), buffers.device, bytes, on.copying));
    TUTTI_WORKS(cuda.event_record(on.copied, on.copying));
    TUTTI_WORKS(cuda.stream_wait_event(on.writing, on.copied, 0));
    wait_for(on.copied, random() % 2 == 0);
    TUTTI_HOLDS(pinned[offset] == value && pinned[offset + bytes / 2 - 1] == value);
    TUTTI_HOLDS(offset == 0 || pinned[0] == static_cast<unsigned char>(value + 1));
    pool.put(buffers);
}

static void run(unsigned seed, Pool& pool) {
    TUTTI_WORKS(cuda.push_context(context));
    std::mt19937 random(seed);
    for (int part = 0; part < 4; part++) {
        const Streams on;
        for (int i = 0; i < rounds / 4; i++) round(on, pool, random);
        TUTTI_WORKS(cuda.event_destroy(on.written));
        TUTTI_WORKS(cuda.event_destroy(on.copied));
        TUTTI_WORKS(cuda.stream_destroy(on.writing));
        TUTTI_WORKS(cuda.stream_destroy(on.copying));
    }
    TUTTI_WORKS(cuda.pop_context(nullptr));
}

int main() {
    cuda = load();
    open_device();
    Pool pool;
    for (int i = 0; i < threads - 1; i++) pool.put({new_memory(), new_pinned()});
    std::vector<std::thread> running;
    for (unsigned i = 0; i < threads; i++) running.emplace_back([&, i] { run(i, pool); });
    for (std::thread& thread : running) thread.join();
    for (int i = 0; i < threads - 1; i++) {
        const Buffers buffers = pool.take();
        TUTTI_WORKS(cuda.free(buffers.device));
        TUTTI_WORKS(cuda.host_free(buffers.pinned));
    }
    TUTTI_WORKS(cuda.pop_context(nullptr));
    TUTTI_WORKS(cuda.release_context(0));
    return 0;
}
