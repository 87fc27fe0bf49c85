// A device in hand, and short ways to have something of it. A process has one driver, so there is
// one of each for all of the program.
#pragma once

#include "driver.hpp"

#include <atomic>

namespace tutti::cuda::test {

inline Driver cuda;
inline Context context;         // of device 0, current in the thread that opened it
constexpr size_t bytes = 4096;  // of all memory here

inline Stream new_stream(unsigned flags = stream_non_blocking) {
    Stream stream = nullptr;
    TUTTI_WORKS(cuda.stream_create(&stream, flags, 0));
    return stream;
}

inline Event new_event() {
    Event event = nullptr;
    TUTTI_WORKS(cuda.event_create(&event, event_disable_timing));
    return event;
}

inline DevicePointer new_memory() {
    DevicePointer memory = 0;
    TUTTI_WORKS(cuda.alloc(&memory, bytes));
    return memory;
}

inline void* new_pinned() {
    void* memory = nullptr;
    TUTTI_WORKS(cuda.host_alloc(&memory, bytes, host_memory_portable));
    return memory;
}

inline DevicePointer number_of(const void* memory) {
    return reinterpret_cast<DevicePointer>(memory);
}

// Streams that pass it wait until it is opened.
class Gate {
public:
    Gate() {
        value_ = static_cast<std::atomic<uint32_t>*>(new_pinned());
        value_->store(0);
    }
    void close(Stream stream) {
        TUTTI_WORKS(cuda.wait_value(stream, number_of(value_), 1, wait_value_eq));
    }
    void open() { value_->store(1); }
    void shut() { value_->store(0); }

private:
    std::atomic<uint32_t>* value_ = nullptr;
};

// Makes device 0 the current one; skips the program if there is none.
inline void open_device() {
    int devices = 0;
    if (cuda.init(0) == Result::NoDevice) skip("no CUDA device");
    TUTTI_WORKS(cuda.device_count(&devices));
    if (devices == 0) skip("no CUDA device");
    TUTTI_WORKS(cuda.retain_context(&context, 0));
    TUTTI_WORKS(cuda.push_context(context));
}

}  // namespace tutti::cuda::test
