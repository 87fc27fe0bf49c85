// The facts that the double of the driver takes for granted, each as a small program: here they
// hold of the double, on a machine with a GPU of the driver. driver_facts [PART OF A NAME]
#include "device.hpp"

#include "capture_facts.hpp"

#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

using namespace tutti::cuda;
using namespace tutti::cuda::test;

// Long enough for a device that is wrong to go on. The double goes on in its calls alone.
static void a_while() {
    if (is_the_double(cuda)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

static bool is_done(Stream stream) {
    a_while();
    const Result result = cuda.stream_query(stream);
    TUTTI_HOLDS(result == Result::Success || result == Result::NotReady);
    return result == Result::Success;
}

static bool is_done(Event event) {
    a_while();
    const Result result = cuda.event_query(event);
    TUTTI_HOLDS(result == Result::Success || result == Result::NotReady);
    return result == Result::Success;
}

static std::vector<unsigned char> content(DevicePointer memory) {
    std::vector<unsigned char> read(bytes);
    TUTTI_WORKS(cuda.copy_to_host(read.data(), memory, bytes));
    return read;
}

static void pointers_say_what_they_are() {
    const DevicePointer device = new_memory();
    void* const pinned = new_pinned();
    const DevicePointer host = number_of(pinned);
    const std::vector<char> plain(bytes);
    int value = -1;
    TUTTI_WORKS(cuda.pointer_attribute(&value, PointerAttribute::MemoryType, device + 7));
    TUTTI_HOLDS(value == static_cast<int>(MemoryType::Device));
    TUTTI_WORKS(cuda.pointer_attribute(&value, PointerAttribute::MemoryType, host + 7));
    TUTTI_HOLDS(value == static_cast<int>(MemoryType::Host));
    TUTTI_WORKS(cuda.pointer_attribute(&value, PointerAttribute::DeviceOrdinal, device));
    TUTTI_HOLDS(value == 0);
    TUTTI_WORKS(cuda.pointer_attribute(&value, PointerAttribute::IsManaged, device));
    TUTTI_HOLDS(value == 0);
    for (auto attribute : {PointerAttribute::MemoryType, PointerAttribute::IsManaged})
        TUTTI_GIVES(Result::InvalidValue,
                    cuda.pointer_attribute(&value, attribute, number_of(plain.data())));
    DevicePointer again = 0;
    TUTTI_WORKS(cuda.host_device_pointer(&again, pinned, 0));
    TUTTI_HOLDS(again == host);
}

static void memory_has_limits() {
    DevicePointer memory = 0;
    TUTTI_GIVES(Result::InvalidValue, cuda.alloc(&memory, 0));
    TUTTI_GIVES(Result::OutOfMemory, cuda.alloc(&memory, size_t{1} << 50));
    memory = new_memory();
    TUTTI_GIVES(Result::InvalidValue, cuda.set_words_async(memory + 1, 0, 1, legacy_stream));
    TUTTI_GIVES(Result::InvalidValue, cuda.wait_value(new_stream(), memory + 2, 0, wait_value_eq));
    void* pinned = &memory;
    TUTTI_WORKS(cuda.host_alloc(&pinned, 0, host_memory_portable));
    TUTTI_WORKS(cuda.free(0));
    TUTTI_WORKS(cuda.host_free(nullptr));
    size_t free = 0;
    size_t total = 0;
    TUTTI_WORKS(cuda.memory_info(&free, &total));
    TUTTI_HOLDS(free <= total && total > 0);
}

static void errors_have_names() {
    const char* text = nullptr;
    TUTTI_WORKS(cuda.error_name(Result::NotReady, &text));
    TUTTI_HOLDS(std::strcmp(text, "CUDA_ERROR_NOT_READY") == 0);
    TUTTI_WORKS(cuda.error_string(Result::OutOfMemory, &text));
    TUTTI_HOLDS(std::strcmp(text, "out of memory") == 0);
    TUTTI_GIVES(Result::InvalidValue, cuda.error_name(Result{12345}, &text));
}

static void event_that_was_never_recorded_is_done() {
    const Event event = new_event();
    TUTTI_WORKS(cuda.event_query(event));
    TUTTI_WORKS(cuda.event_synchronize(event));
    TUTTI_WORKS(cuda.stream_wait_event(new_stream(), event, 0));
}

static void event_is_not_ready_behind_a_gate() {
    Gate gate;
    const Stream stream = new_stream();
    const Event event = new_event();
    gate.close(stream);
    TUTTI_WORKS(cuda.event_record(event, stream));
    TUTTI_HOLDS(!is_done(event) && !is_done(stream));
    gate.open();
    TUTTI_WORKS(cuda.event_synchronize(event));
    TUTTI_WORKS(cuda.event_query(event));
    TUTTI_WORKS(cuda.stream_query(stream));
}

static void stream_waits_for_an_event_of_another() {
    Gate gate;
    const Stream first = new_stream();
    const Stream second = new_stream();
    const Event event = new_event();
    gate.close(first);
    TUTTI_WORKS(cuda.event_record(event, first));
    TUTTI_WORKS(cuda.stream_wait_event(second, event, 0));
    TUTTI_WORKS(cuda.event_destroy(event));  // whoever waits for it goes on waiting
    TUTTI_HOLDS(!is_done(second));
    gate.open();
    TUTTI_WORKS(cuda.stream_synchronize(second));
    TUTTI_WORKS(cuda.stream_query(first));
}

static void event_recorded_again_is_another() {
    Gate gate;
    const Stream blocked = new_stream();
    const Stream waiting = new_stream();
    const Stream other = new_stream();
    const Event event = new_event();
    gate.close(blocked);
    TUTTI_WORKS(cuda.event_record(event, blocked));
    TUTTI_WORKS(cuda.stream_wait_event(waiting, event, 0));
    TUTTI_WORKS(cuda.event_record(event, other));
    TUTTI_WORKS(cuda.event_synchronize(event));  // the newer one
    TUTTI_HOLDS(!is_done(waiting));              // for the older one
    gate.open();
    TUTTI_WORKS(cuda.stream_synchronize(waiting));
}

static void default_stream_is_in_order_with_those_that_block() {
    Gate gate;
    const Stream before = new_stream(0);
    const Stream after = new_stream(0);
    const Stream beside = new_stream();
    const DevicePointer memory = new_memory();
    gate.close(before);
    TUTTI_HOLDS(!is_done(legacy_stream));  // though nothing was enqueued in it
    TUTTI_WORKS(cuda.set_async(memory, 1, bytes, legacy_stream));
    TUTTI_WORKS(cuda.set_async(memory, 2, bytes, after));
    const Event event = new_event();
    TUTTI_WORKS(cuda.event_record(event, beside));
    TUTTI_WORKS(cuda.event_synchronize(event));
    TUTTI_HOLDS(!is_done(legacy_stream) && !is_done(after));
    gate.open();
    TUTTI_WORKS(cuda.stream_synchronize(after));
    TUTTI_HOLDS(content(memory)[bytes - 1] == 2);
}

static void default_stream_does_not_wait_for_those_that_do_not_block() {
    Gate gate;
    const Stream beside = new_stream();
    gate.close(beside);
    TUTTI_WORKS(cuda.set_async(new_memory(), 1, bytes, legacy_stream));
    TUTTI_WORKS(cuda.stream_synchronize(legacy_stream));
    TUTTI_HOLDS(!is_done(beside));
    gate.open();
    TUTTI_WORKS(cuda.context_synchronize());
    TUTTI_WORKS(cuda.stream_query(beside));
}

static void stream_of_the_thread_blocks() {
    Gate gate;
    gate.close(stream_per_thread);
    TUTTI_HOLDS(!is_done(legacy_stream));
    gate.open();
    TUTTI_WORKS(cuda.stream_synchronize(legacy_stream));
}

static void destroyed_stream_does_its_work() {
    Gate gate;
    const Stream stream = new_stream();
    const DevicePointer memory = new_memory();
    gate.close(stream);
    TUTTI_WORKS(cuda.set_async(memory, 5, bytes, stream));
    TUTTI_WORKS(cuda.stream_destroy(stream));
    gate.open();
    TUTTI_WORKS(cuda.context_synchronize());
    TUTTI_HOLDS(content(memory)[0] == 5);
}

static void stream_opens_the_gate_of_another() {
    const Stream first = new_stream();
    const Stream second = new_stream();
    const DevicePointer value = new_memory();
    TUTTI_WORKS(cuda.set_words_async(value, 0, bytes / 4, first));
    TUTTI_WORKS(cuda.stream_synchronize(first));
    TUTTI_WORKS(cuda.wait_value(second, value, 3, wait_value_geq));
    TUTTI_HOLDS(!is_done(second));
    TUTTI_WORKS(cuda.write_value(first, value, 4, 0));
    TUTTI_WORKS(cuda.stream_synchronize(second));
    TUTTI_HOLDS(content(value)[0] == 4);
}

static void memory_of_the_host_is_free_after_the_call() {
    const Stream stream = new_stream();
    const DevicePointer memory = new_memory();
    std::vector<unsigned char> host(bytes, 3);
    TUTTI_WORKS(cuda.copy_to_device_async(memory, host.data(), bytes, stream));
    std::fill(host.begin(), host.end(), static_cast<unsigned char>(9));
    TUTTI_WORKS(cuda.copy_to_host_async(host.data(), memory, bytes, stream));
    TUTTI_HOLDS(host[0] == 3 && host[bytes - 1] == 3);
}

static void freeing_waits_for_the_device_and_allocating_does_not() {
    Gate gate;
    const Stream stream = new_stream();
    const DevicePointer memory = new_memory();
    void* const pinned = new_pinned();
    const Stream destroyed = new_stream();
    const Event event = new_event();
    gate.close(stream);
    TUTTI_WORKS(cuda.event_record(event, stream));
    TUTTI_WORKS(cuda.event_destroy(event));
    TUTTI_WORKS(cuda.stream_destroy(destroyed));
    const DevicePointer made = new_memory();
    void* const made_pinned = new_pinned();
    TUTTI_HOLDS(!is_done(stream));
    const auto waits = [&](const std::function<void()>& frees) {
        std::atomic<bool> freed = false;
        std::thread thread([&] {
            TUTTI_WORKS(cuda.push_context(context));
            frees();
            freed = true;
        });
        a_while();
        TUTTI_HOLDS(!freed);
        gate.open();
        thread.join();
        TUTTI_WORKS(cuda.stream_synchronize(stream));
        gate.shut();
        gate.close(stream);
    };
    waits([&] { TUTTI_WORKS(cuda.free(memory)); });
    waits([&] { TUTTI_WORKS(cuda.host_free(pinned)); });
    waits([&] { TUTTI_WORKS(cuda.free(made)); });
    gate.open();
    TUTTI_WORKS(cuda.stream_synchronize(stream));
    TUTTI_WORKS(cuda.host_free(made_pinned));
}

static void words_are_filled() {
    const Stream stream = new_stream();
    const DevicePointer memory = new_memory();
    TUTTI_WORKS(cuda.set_words_async(memory, 0x04030201, bytes / 4, stream));
    TUTTI_WORKS(cuda.stream_synchronize(stream));
    TUTTI_HOLDS(content(memory)[5] == 2 && content(memory)[bytes - 1] == 4);
}

static void a_stream_in_hand_needs_no_current_context() {
    const Stream stream = new_stream();
    const Event event = new_event();
    const DevicePointer memory = new_memory();
    Context popped = nullptr;
    TUTTI_WORKS(cuda.pop_context(&popped));
    TUTTI_HOLDS(popped == context);
    TUTTI_WORKS(cuda.set_async(memory, 1, bytes, stream));
    TUTTI_WORKS(cuda.event_record(event, stream));
    TUTTI_WORKS(cuda.stream_wait_event(stream, event, 0));
    TUTTI_WORKS(cuda.event_synchronize(event));
    TUTTI_WORKS(cuda.event_query(event));
    Context of_stream = nullptr;
    TUTTI_WORKS(cuda.stream_context(stream, &of_stream));
    TUTTI_HOLDS(of_stream == context);
    TUTTI_WORKS(cuda.get_context(&of_stream));
    TUTTI_HOLDS(of_stream == nullptr);

    CaptureStatus status{};
    TUTTI_WORKS(cuda.stream_is_capturing(stream, &status));
    TUTTI_HOLDS(status == CaptureStatus::None);

    Stream made = nullptr;
    Event made_event = nullptr;
    DevicePointer made_memory = 0;
    void* made_pinned = nullptr;
    const auto no_context = Result::InvalidContext;
    TUTTI_GIVES(no_context, cuda.set_async(memory, 1, bytes, legacy_stream));
    TUTTI_GIVES(no_context, cuda.event_record(event, legacy_stream));
    TUTTI_GIVES(no_context, cuda.stream_is_capturing(legacy_stream, &status));
    TUTTI_GIVES(no_context, cuda.stream_create(&made, stream_non_blocking, 0));
    TUTTI_GIVES(no_context, cuda.event_create(&made_event, event_disable_timing));
    TUTTI_GIVES(no_context, cuda.alloc(&made_memory, bytes));
    TUTTI_GIVES(no_context, cuda.host_alloc(&made_pinned, bytes, host_memory_portable));
    TUTTI_GIVES(no_context, cuda.context_synchronize());
    TUTTI_GIVES(no_context, cuda.pop_context(&popped));
    TUTTI_WORKS(cuda.free(memory));
    TUTTI_WORKS(cuda.stream_destroy(stream));
    TUTTI_WORKS(cuda.event_destroy(event));
    TUTTI_WORKS(cuda.push_context(context));
}

// The facts looked at, if there is a second device.
static void event_belongs_to_the_context_of_its_stream() {
    int devices = 0;
    TUTTI_WORKS(cuda.device_count(&devices));
    if (devices < 2) return;
    const Event event = new_event();
    const Stream stream = new_stream();
    Context other = nullptr;
    TUTTI_WORKS(cuda.retain_context(&other, 1));
    TUTTI_WORKS(cuda.push_context(other));
    TUTTI_GIVES(Result::InvalidHandle, cuda.event_record(event, new_stream()));
    TUTTI_GIVES(Result::InvalidHandle, cuda.event_record(event, legacy_stream));
    TUTTI_WORKS(cuda.event_record(event, stream));
    TUTTI_WORKS(cuda.stream_wait_event(new_stream(), event, 0));
    TUTTI_WORKS(cuda.event_synchronize(event));
    TUTTI_WORKS(cuda.pop_context(nullptr));
    TUTTI_WORKS(cuda.release_context(1));
}

struct Fact {
    const char* name;
    void (*holds)();
};
#define FACT(function) \
    { #function, function }

static const Fact facts[] = {
    FACT(pointers_say_what_they_are),
    FACT(memory_has_limits),
    FACT(errors_have_names),
    FACT(event_that_was_never_recorded_is_done),
    FACT(event_is_not_ready_behind_a_gate),
    FACT(stream_waits_for_an_event_of_another),
    FACT(event_recorded_again_is_another),
    FACT(default_stream_is_in_order_with_those_that_block),
    FACT(default_stream_does_not_wait_for_those_that_do_not_block),
    FACT(stream_of_the_thread_blocks),
    FACT(destroyed_stream_does_its_work),
    FACT(stream_opens_the_gate_of_another),
    FACT(memory_of_the_host_is_free_after_the_call),
    FACT(freeing_waits_for_the_device_and_allocating_does_not),
    FACT(words_are_filled),
    FACT(a_stream_in_hand_needs_no_current_context),
    FACT(event_belongs_to_the_context_of_its_stream),
    FACT(capture_forbids_queries_by_its_mode),
    FACT(captured_streams_and_events_tell_nothing),
    FACT(event_of_a_capture_is_of_no_use_after_it),
    FACT(failed_capture_takes_nothing),
    FACT(captures_do_not_merge),
    FACT(capture_spreads_by_events),
    FACT(capture_takes_no_event_from_outside),
    FACT(default_stream_stays_away_from_a_capture),
    FACT(capture_begins_and_ends_once),
};

int main(int argc, char** argv) {
    cuda = load();
    int devices = 0;
    const Result before = cuda.device_count(&devices);
    open_device();
    TUTTI_GIVES(Result::NotInitialized, before);
    for (const Fact& fact : facts) {
        if (argc > 1 && std::strstr(fact.name, argv[1]) == nullptr) continue;
        std::printf("%s\n", fact.name);
        std::fflush(stdout);
        fact.holds();
    }
    return 0;
}
