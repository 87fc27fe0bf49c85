// Does the double of the driver do what the environment asks for? Each case has its own process.
#include "device.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <functional>

using namespace tutti::cuda;
using namespace tutti::cuda::test;

// How a process ends that sets this variable and runs this: its exit status, or minus its signal.
static int end_of(const char* variable, const char* value, const std::function<void()>& run) {
    const pid_t child = fork();
    if (child == 0) {
        setenv(variable, value, 1);
        run();
        std::exit(0);
    }
    int status = 0;
    TUTTI_HOLDS(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void there_is_no_device() {
    int devices = -1;
    TUTTI_GIVES(Result::NoDevice, cuda.init(0));
    TUTTI_GIVES(Result::NotInitialized, cuda.device_count(&devices));
}

static void memory_ends() {
    open_device();
    const DevicePointer memory = new_memory();
    DevicePointer more = 0;
    TUTTI_GIVES(Result::OutOfMemory, cuda.alloc(&more, 2 * bytes));
    TUTTI_WORKS(cuda.free(memory));
    TUTTI_WORKS(cuda.alloc(&more, 2 * bytes));
    size_t free = 1;
    size_t total = 0;
    TUTTI_WORKS(cuda.memory_info(&free, &total));
    TUTTI_HOLDS(free == 0 && total == 2 * bytes);
}

static void one_call_fails() {
    open_device();
    const DevicePointer memory = new_memory();
    const Stream stream = new_stream();
    TUTTI_WORKS(cuda.copy_async(memory, memory, bytes / 2, stream));
    TUTTI_GIVES(Result::OutOfMemory, cuda.copy_async(memory, memory, bytes / 2, stream));
    TUTTI_WORKS(cuda.copy_async(memory, memory, bytes / 2, stream));
}

static void all_calls_fail_after_it() {
    open_device();
    const DevicePointer memory = new_memory();
    const Stream stream = new_stream();
    TUTTI_GIVES(Result{700}, cuda.copy_async(memory, memory, bytes / 2, stream));
    TUTTI_GIVES(Result{700}, cuda.stream_query(stream));
    TUTTI_GIVES(Result{700}, cuda.free(memory));
}

static void calls_need_a_context() {
    open_device();
    const Stream stream = new_stream();
    TUTTI_WORKS(cuda.pop_context(nullptr));
    TUTTI_GIVES(Result::InvalidContext, cuda.stream_query(stream));
}

static void misuse_ends_the_process() {
    open_device();
    TUTTI_WORKS(cuda.pop_context(nullptr));
    static_cast<void>(cuda.stream_query(legacy_stream));
}

static void host_may_touch_pinned_memory() {
    open_device();
    auto* const pinned = static_cast<volatile char*>(new_pinned());
    TUTTI_WORKS(cuda.set_async(number_of(const_cast<char*>(pinned)), 1, bytes, new_stream()));
    pinned[0] = 2;
}

static void host_may_not_touch_device_memory() {
    open_device();
    *reinterpret_cast<volatile char*>(new_memory()) = 1;
}

static void forked_child_has_no_driver_and_can_exit() {
    open_device();
    TUTTI_WORKS(cuda.set_async(new_memory(), 1, bytes, new_stream()));
    const auto child = [] {
        TUTTI_GIVES(Result::NotInitialized, cuda.context_synchronize());
        TUTTI_GIVES(Result::NotInitialized, cuda.init(0));
    };
    TUTTI_HOLDS(end_of("TUTTI_FAKE_CUDA_LEAKS", "1", child) == 0);
}

int main() {
    cuda = load();
    if (!is_the_double(cuda)) skip("only the double has options");
    TUTTI_HOLDS(end_of("TUTTI_FAKE_CUDA_BYTES", "8192", memory_ends) == 0);
    TUTTI_HOLDS(end_of("TUTTI_FAKE_CUDA_FAIL", "cuMemcpyAsync:2:2", one_call_fails) == 0);
    TUTTI_HOLDS(end_of("TUTTI_FAKE_CUDA_FAIL", "cuMemcpyAsync:1:700", all_calls_fail_after_it) ==
                0);
    TUTTI_HOLDS(end_of("TUTTI_FAKE_CUDA_STRICT", "0", misuse_ends_the_process) == 0);
    TUTTI_HOLDS(end_of("TUTTI_FAKE_CUDA_STRICT", "1", misuse_ends_the_process) == -SIGABRT);
    TUTTI_HOLDS(end_of("TUTTI_FAKE_CUDA_PROTECT", "0", host_may_touch_pinned_memory) == 0);
    TUTTI_HOLDS(end_of("TUTTI_FAKE_CUDA_PROTECT", "1", host_may_touch_pinned_memory) == -SIGABRT);
    TUTTI_HOLDS(end_of("TUTTI_FAKE_CUDA_LEAKS", "1", host_may_touch_pinned_memory) == -SIGABRT);
    TUTTI_HOLDS(end_of("TUTTI_FAKE_CUDA_LEAKS", "0", host_may_not_touch_device_memory) == -SIGABRT);
    TUTTI_HOLDS(end_of("TUTTI_FAKE_CUDA_LEAKS", "0", forked_child_has_no_driver_and_can_exit) == 0);
    setenv("TUTTI_FAKE_CUDA_STRICT", "0", 1);
    TUTTI_HOLDS(end_of("TUTTI_FAKE_CUDA_DEVICES", "0", there_is_no_device) == 0);
    TUTTI_HOLDS(end_of("TUTTI_FAKE_CUDA_CONTEXTS", "always", calls_need_a_context) == 0);
    return 0;
}
