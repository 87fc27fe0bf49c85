// Does the double of the driver find what is wrong? Each case has a bug, which must be reported,
// and the same program without it, about which nothing may be said. Each runs in its own process.
//     detector_test [PART OF A NAME]
#include "device.hpp"

#include "support/fake_cuda/fake_cuda.h"

#include <sys/wait.h>
#include <unistd.h>
#include <cstring>
#include <string>
#include <thread>

using namespace tutti::cuda;
using namespace tutti::cuda::test;

// A place in memory, which the compiler takes for one that changes.
static volatile char* in(void* memory) {
    return static_cast<volatile char*>(memory);
}

static void event_wait_is_missing(bool bug) {
    const Stream first = new_stream();
    const Stream second = new_stream();
    const Event event = new_event();
    const DevicePointer memory = new_memory();
    TUTTI_WORKS(cuda.set_async(memory, 1, bytes, first));
    TUTTI_WORKS(cuda.event_record(event, first));
    if (!bug) TUTTI_WORKS(cuda.stream_wait_event(second, event, 0));
    TUTTI_WORKS(cuda.copy_async(new_memory(), memory, bytes, second));
}

static void copy_comes_after_its_event(bool bug) {
    const Stream first = new_stream();
    const Stream second = new_stream();
    const Event event = new_event();
    const DevicePointer memory = new_memory();
    if (bug) TUTTI_WORKS(cuda.event_record(event, first));
    TUTTI_WORKS(cuda.copy_async(memory, new_memory(), bytes, first));
    if (!bug) TUTTI_WORKS(cuda.event_record(event, first));
    TUTTI_WORKS(cuda.stream_wait_event(second, event, 0));
    TUTTI_WORKS(cuda.set_async(memory, 1, bytes, second));
}

static void default_stream_is_taken_for_a_fence(bool bug) {
    const Stream stream = new_stream(bug ? stream_non_blocking : 0);
    const DevicePointer memory = new_memory();
    TUTTI_WORKS(cuda.set_async(memory, 1, bytes, stream));
    TUTTI_WORKS(cuda.set_async(memory, 2, bytes, legacy_stream));
}

static void other_device_is_not_waited_for(bool bug) {
    const Stream first = new_stream();
    const Event event = new_event();
    const DevicePointer memory = new_memory();
    TUTTI_WORKS(cuda.set_async(memory, 1, bytes, first));
    TUTTI_WORKS(cuda.event_record(event, first));
    Context other = nullptr;
    TUTTI_WORKS(cuda.retain_context(&other, 1));
    TUTTI_WORKS(cuda.push_context(other));
    const Stream second = new_stream();
    if (!bug) TUTTI_WORKS(cuda.stream_wait_event(second, event, 0));
    TUTTI_WORKS(cuda.copy_async(new_memory(), memory, bytes, second));
}

static void event_is_recorded_again_too_early(bool bug) {
    const Stream first = new_stream();
    const Stream second = new_stream();
    const Stream third = new_stream();
    const Event event = new_event();
    const DevicePointer memory = new_memory();
    TUTTI_WORKS(cuda.set_async(memory, 1, bytes, first));
    TUTTI_WORKS(cuda.event_record(event, first));
    if (!bug) TUTTI_WORKS(cuda.stream_wait_event(second, event, 0));
    TUTTI_WORKS(cuda.event_record(event, third));
    if (bug) TUTTI_WORKS(cuda.stream_wait_event(second, event, 0));
    TUTTI_WORKS(cuda.set_async(memory, 2, bytes, second));
}

static void host_waits_for_another_event(bool bug) {
    const Stream first = new_stream();
    const Stream second = new_stream();
    const Event event = new_event();
    const DevicePointer memory = new_memory();
    TUTTI_WORKS(cuda.set_async(memory, 1, bytes, first));
    TUTTI_WORKS(cuda.event_record(event, bug ? second : first));
    TUTTI_WORKS(cuda.event_synchronize(event));
    TUTTI_WORKS(cuda.set_async(memory, 2, bytes, second));
}

static void memory_is_freed_early(bool bug) {
    const Stream stream = new_stream();
    const DevicePointer memory = new_memory();
    TUTTI_WORKS(cuda.set_async(memory, 1, bytes, stream));
    if (!bug) TUTTI_WORKS(cuda.stream_synchronize(stream));
    TUTTI_WORKS(cuda.free(memory));
}

static std::string content_of(const char* path) {
    std::string text;
    std::FILE* const file = std::fopen(path, "r");
    for (int c = 0; file != nullptr && (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
    if (file != nullptr) std::fclose(file);
    return text;
}

static void pinned_memory_is_freed_behind_a_gate(bool bug) {
    Gate gate;
    const Stream stream = new_stream();
    void* const pinned = new_pinned();
    gate.close(stream);
    TUTTI_WORKS(cuda.copy_async(number_of(pinned), new_memory(), bytes, stream));
    std::thread opener([&] {
        // Only once the double has said so: the free waits for the gate.
        while (bug && content_of(std::getenv("TUTTI_FAKE_CUDA_REPORT")).empty()) {
            std::this_thread::yield();
        }
        gate.open();
    });
    while (!bug && cuda.stream_query(stream) == Result::NotReady) std::this_thread::yield();
    TUTTI_WORKS(cuda.host_free(pinned));
    opener.join();
}

static void freed_memory_is_used(bool bug) {
    const DevicePointer memory = new_memory();
    const Stream stream = new_stream();
    if (bug) TUTTI_WORKS(cuda.free(memory));
    static_cast<void>(cuda.set_async(memory, 1, bytes, stream));
}

static void host_reads_device_memory(bool bug) {
    const DevicePointer memory = new_memory();
    TUTTI_WORKS(cuda.set_async(memory, 1, bytes, legacy_stream));
    char copied = 0;
    if (bug)
        copied = *in(reinterpret_cast<void*>(memory));
    else
        TUTTI_WORKS(cuda.copy_to_host(&copied, memory, 1));
    TUTTI_HOLDS(copied == 1 || bug);
}

static void host_reads_what_the_device_writes(bool bug) {
    const Stream stream = new_stream();
    void* const pinned = new_pinned();
    const DevicePointer memory = new_memory();
    TUTTI_WORKS(cuda.set_async(memory, 1, bytes, stream));
    TUTTI_WORKS(cuda.copy_async(number_of(pinned), memory, bytes / 2, stream));
    in(pinned)[bytes - 1] = 1;  // nobody's, in the same page
    TUTTI_WORKS(cuda.push_context(context));
    if (!bug) TUTTI_WORKS(cuda.stream_synchronize(stream));
    TUTTI_HOLDS(in(pinned)[0] == 1 || bug);
}

static void host_writes_what_the_device_reads(bool bug) {
    const Stream stream = new_stream();
    const Event event = new_event();
    void* const pinned = new_pinned();
    in(pinned)[5] = 1;
    TUTTI_WORKS(cuda.copy_async(new_memory(), number_of(pinned), bytes, stream));
    TUTTI_WORKS(cuda.event_record(event, stream));
    TUTTI_HOLDS(in(pinned)[5] == 1);  // both may read
    if (!bug) TUTTI_WORKS(cuda.event_synchronize(event));
    in(pinned)[5] = 2;
}

static void event_is_of_another_context(bool bug) {
    Event event = new_event();
    Context other = nullptr;
    TUTTI_WORKS(cuda.retain_context(&other, 1));
    TUTTI_WORKS(cuda.push_context(other));
    if (!bug) event = new_event();
    TUTTI_GIVES(bug ? Result::InvalidHandle : Result::Success,
                cuda.event_record(event, new_stream()));
}

static void no_context_is_current(bool bug) {
    const DevicePointer memory = new_memory();
    if (bug) TUTTI_WORKS(cuda.pop_context(nullptr));
    TUTTI_GIVES(bug ? Result::InvalidContext : Result::Success,
                cuda.set_async(memory, 1, bytes, legacy_stream));
}

static void capture_is_watched(bool bug) {
    const Stream stream = new_stream();
    const Event event = new_event();
    TUTTI_WORKS(cuda.event_record(event, new_stream()));
    TUTTI_WORKS(cuda.begin_capture(stream, CaptureMode::Global));
    CaptureMode mode = CaptureMode::Relaxed;
    if (!bug) TUTTI_WORKS(cuda.exchange_capture_mode(&mode));
    static_cast<void>(cuda.event_query(event));
    Graph graph = nullptr;
    if (!bug) TUTTI_WORKS(cuda.end_capture(stream, &graph));
}

static void something_is_left(bool bug) {
    const Event event = new_event();
    const Stream stream = new_stream();
    if (!bug) TUTTI_WORKS(cuda.event_destroy(event));
    TUTTI_WORKS(cuda.stream_destroy(stream));
}

static void copy_goes_beyond_the_end(bool bug) {
    const DevicePointer memory = new_memory();
    const DevicePointer other = new_memory();
    static_cast<void>(cuda.copy_async(memory + 1, other, bytes - !bug, legacy_stream));
}

static void destroyed_event_is_used(bool bug) {
    const Event event = new_event();
    const Stream stream = new_stream();
    TUTTI_WORKS(cuda.event_record(event, stream));
    if (bug) TUTTI_WORKS(cuda.event_destroy(event));
    static_cast<void>(cuda.event_query(event));
}

static void kernel_of_a_library_is_not_waited_for(bool bug) {
    const auto launch =
        reinterpret_cast<decltype(&fake_cuda_launch)>(dlsym(cuda.library, "fake_cuda_launch"));
    const Stream stream = new_stream();
    const DevicePointer memory = new_memory();
    const fake_cuda_range range = {memory, bytes, 1};
    static int steps;
    const auto step = [](void* user) { return ++*static_cast<int*>(user) == 3 ? 1 : 0; };
    TUTTI_HOLDS(launch(stream, "kernel", &range, 1, step, &steps) == 0);
    TUTTI_WORKS(cuda.copy_async(new_memory(), memory, bytes, bug ? new_stream() : stream));
    TUTTI_WORKS(cuda.context_synchronize());
    TUTTI_HOLDS(steps == 3);
}

struct Case {
    const char* name;
    const char* kind;
    void (*run)(bool bug);
};
#define CASE(kind, function) \
    { #function, kind, function }

static const Case cases[] = {
    CASE("RACE", event_wait_is_missing),
    CASE("RACE", copy_comes_after_its_event),
    CASE("RACE", default_stream_is_taken_for_a_fence),
    CASE("RACE", other_device_is_not_waited_for),
    CASE("RACE", event_is_recorded_again_too_early),
    CASE("RACE", host_waits_for_another_event),
    CASE("RACE", kernel_of_a_library_is_not_waited_for),
    CASE("FREED", memory_is_freed_early),
    CASE("FREED", pinned_memory_is_freed_behind_a_gate),
    CASE("DEAD", freed_memory_is_used),
    CASE("DEAD", destroyed_event_is_used),
    CASE("HOST", host_reads_device_memory),
    CASE("HOST", host_reads_what_the_device_writes),
    CASE("HOST", host_writes_what_the_device_reads),
    CASE("MISUSE", event_is_of_another_context),
    CASE("MISUSE", no_context_is_current),
    CASE("MISUSE", capture_is_watched),
    CASE("BOUNDS", copy_goes_beyond_the_end),
    CASE("LEAK", something_is_left),
};

// Runs a case with its reports in this file. Whether it came to its end.
static bool run(const Case& each, bool bug, const char* reports) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        setenv("TUTTI_FAKE_CUDA_REPORT", reports, 1);
        setenv("TUTTI_FAKE_CUDA_LEAKS", std::strcmp(each.kind, "LEAK") == 0 ? "1" : "0", 1);
        open_device();
        each.run(bug);
        std::exit(0);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The fault of the detector, in words; nothing, if it is right.
static std::string judge(const Case& each, bool bug) {
    char path[] = "/tmp/detector_test_XXXXXX";
    const int file = mkstemp(path);
    TUTTI_HOLDS(file >= 0);
    close(file);
    const bool ended = run(each, bug, path);
    const std::string reports = content_of(path);
    unlink(path);
    const std::string wanted = std::string("fake_cuda: ") + each.kind + " ";
    if (!ended) return "did not end well; it said: " + reports;
    if (!bug) return reports.empty() ? "" : "nothing is wrong there, and it said: " + reports;
    return reports.find(wanted) == 0 ? "" : "wanted " + wanted + "and it said: " + reports;
}

int main(int argc, char** argv) {
    cuda = load();
    if (!is_the_double(cuda)) skip("only the double looks for bugs");
    int failures = 0;
    for (const Case& each : cases)
        for (const bool bug : {true, false}) {
            if (argc > 1 && std::strstr(each.name, argv[1]) == nullptr) continue;
            const std::string wrong = judge(each, bug);
            std::printf("%s %s%s%s\n", each.name, bug ? "(bug)" : "(right)",
                        wrong.empty() ? "" : ": ", wrong.c_str());
            failures += !wrong.empty();
        }
    return failures == 0 ? 0 : 1;
}
