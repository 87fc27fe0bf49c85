// Kernels of doubles of other libraries.
#include "capture.hpp"
#include "fake_cuda.h"
#include "places.hpp"

using namespace tutti::cuda;

static Result launch(StreamObject& stream, Operation operation, const fake_cuda_range* ranges,
                     size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].bytes == 0) continue;
        Place place;
        const Result result = find_ours(ranges[i].address, ranges[i].bytes, &place);
        if (result != Result::Success) return result;
        operation.touches.push_back(place.touch(ranges[i].bytes, ranges[i].writes != 0));
    }
    return submit(stream, std::move(operation));
}

[[gnu::visibility("default")]] int fake_cuda_launch(void* stream, const char* name,
                                                    const fake_cuda_range* ranges, size_t count,
                                                    int (*step)(void* user), void* user) {
    return static_cast<int>(call(name, [&] {
        Result result = Result::Success;
        StreamObject* const found = stream_of(static_cast<Stream>(stream), &result);
        if (found == nullptr) return result;
        Operation operation;
        operation.name = name;
        operation.act = [step, user](Operation&) { return step(user) != 0; };
        return launch(*found, std::move(operation), ranges, count);
    }));
}

// Called by steps, inside a call that has the mutex.
[[gnu::visibility("default")]] void* fake_cuda_memory(unsigned long long address) {
    const auto allocation = allocation_at(address);
    if (allocation == nullptr) return nullptr;
    return allocation->real + (address - reinterpret_cast<uint64_t>(allocation->program));
}
