// A device of the test's own: it has passed an event when the test says so, and counts the memory
// that it gives. Any thread.
#pragma once

#include <atomic>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "device/driver.hpp"

namespace tutti::device::test {

struct TestEvent {
    std::atomic<bool> passed{false};
};

// All that the functions of the table know.
struct Device {
    std::atomic<int> pieces{0};  // of pinned memory
    std::atomic<size_t> bytes{0};
    std::atomic<bool> has_memory{true};
    std::atomic<bool> is_lost{false};
    std::atomic<TestEvent*> recorded{nullptr};  // the last one
};

inline Device& device() {
    static Device one;
    return one;
}

inline tutti_status count_devices(int32_t* devices, tutti_device_failure*) {
    *devices = 2;
    return TUTTI_OK;
}
inline tutti_status create_event(int32_t, void** event, tutti_device_failure*) {
    *event = new TestEvent;
    return TUTTI_OK;
}
inline tutti_status destroy_event(int32_t, void* event, tutti_device_failure*) {
    delete static_cast<TestEvent*>(event);
    return TUTTI_OK;
}
inline tutti_status record_event(int32_t, void* event, void*, tutti_device_failure*) {
    auto* const recorded = static_cast<TestEvent*>(event);
    recorded->passed = false;
    device().recorded = recorded;
    return TUTTI_OK;
}
inline tutti_status query_event(int32_t, void* event, int32_t* passed,
                                tutti_device_failure* failure) {
    if (device().is_lost) {
        *failure = {700, "the device is lost"};
        return TUTTI_ERR_BACKEND;
    }
    *passed = static_cast<TestEvent*>(event)->passed ? 1 : 0;
    return TUTTI_OK;
}
// All pieces stay known here, also those that a pool has when it ends: a pool of the library never
// does.
inline void* make_piece() {
    static Mutex mutex;
    static auto& all = *new std::vector<void*>;
    const Lock lock(mutex);
    all.push_back(std::aligned_alloc(4096, 4096));
    return all.back();
}
// Where a piece begins its size is written: the test does not use the memory.
inline tutti_status alloc_host(int32_t, size_t bytes, void** memory,
                               tutti_device_failure* failure) {
    *failure = {2, "there is no pinned memory left"};
    if (!device().has_memory) return TUTTI_ERR_OUT_OF_MEMORY;
    *memory = make_piece();
    *static_cast<size_t*>(*memory) = bytes;
    ++device().pieces;
    device().bytes += bytes;
    return TUTTI_OK;
}
inline tutti_status free_host(int32_t, void* memory, tutti_device_failure*) {
    --device().pieces;
    device().bytes -= *static_cast<size_t*>(memory);
    return TUTTI_OK;
}

inline const tutti_device_table& table() {
    static const tutti_device_table all = [] {
        tutti_device_table made{};
        made.version = tutti_device_table_version;
        made.size = sizeof made;
        made.count = count_devices;
        made.event_create = create_event;
        made.event_destroy = destroy_event;
        made.event_record = record_event;
        made.event_query = query_event;
        made.host_alloc = alloc_host;
        made.host_free = free_host;
        return made;
    }();
    return all;
}

inline Driver& driver() {
    static Driver& one = *new Driver(TUTTI_CUDA, table());
    return one;
}

// An event that the device has not passed, and how the test lets it.
struct Recorded {
    EventPointer event = driver().record(0, nullptr);
    TestEvent* controls = device().recorded;
    void pass() const { controls->passed = true; }
};

}  // namespace tutti::device::test
