// The functions that give the device work: copies, fills, and values to wait for.
#include "capture.hpp"
#include "engine.hpp"
#include "exports.hpp"
#include "places.hpp"
#include "report.hpp"

#include <cstring>

namespace tutti::cuda {

// Calls body with the stream of a handle, or says why there is none.
template <class Body>
static Result on_stream(const char* name, Stream handle, const Body& body) {
    return call(name, [&] {
        Result result = Result::Success;
        StreamObject* const stream = stream_of(handle, &result);
        return stream == nullptr ? result : body(*stream);
    });
}

// Memory of the host that is not pinned is read at the call, and written before it returns.
static Result copy(const char* name, StreamObject& stream, DevicePointer to, DevicePointer from,
                   size_t bytes, bool waits) {
    if (bytes == 0) return Result::Success;
    Place target;
    Place source;
    Result result = find(to, bytes, &target);
    if (result == Result::Success) result = find(from, bytes, &source);
    if (result != Result::Success) return result;
    Operation operation;
    operation.name = name;
    if (source.allocation) operation.touches.push_back(source.touch(bytes, false));
    if (target.allocation) operation.touches.push_back(target.touch(bytes, true));
    char* const written = target.real;
    if (source.allocation == nullptr && stream.capture == nullptr) {
        const auto staged = std::make_shared<std::string>(source.real, bytes);
        operation.act = [written, staged](Operation&) {
            std::memcpy(written, staged->data(), staged->size());
            return true;
        };
    } else {
        operation.act = [written, read = source.real, bytes](Operation&) {
            std::memmove(written, read, bytes);
            return true;
        };
    }
    OperationPointer enqueued;
    result = submit(stream, std::move(operation), &enqueued);
    if (enqueued != nullptr && (waits || target.allocation == nullptr)) wait({enqueued});
    return result;
}

static DevicePointer number_of(const void* host) {
    return reinterpret_cast<DevicePointer>(host);
}

Result cuMemcpyAsync(DevicePointer to, DevicePointer from, size_t bytes, Stream stream) {
    return on_stream("cuMemcpyAsync", stream, [&](StreamObject& found) {
        return copy("cuMemcpyAsync", found, to, from, bytes, false);
    });
}

Result cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, size_t bytes, Stream stream) {
    return on_stream("cuMemcpyDtoHAsync_v2", stream, [&](StreamObject& found) {
        return copy("cuMemcpyDtoHAsync_v2", found, number_of(to), from, bytes, false);
    });
}

Result cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, size_t bytes, Stream stream) {
    return on_stream("cuMemcpyHtoDAsync_v2", stream, [&](StreamObject& found) {
        return copy("cuMemcpyHtoDAsync_v2", found, to, number_of(from), bytes, false);
    });
}

Result cuMemcpyDtoH_v2(void* to, DevicePointer from, size_t bytes) {
    return on_stream("cuMemcpyDtoH_v2", legacy_stream, [&](StreamObject& found) {
        return copy("cuMemcpyDtoH_v2", found, number_of(to), from, bytes, true);
    });
}

Result cuMemcpyHtoD_v2(DevicePointer to, const void* from, size_t bytes) {
    return on_stream("cuMemcpyHtoD_v2", legacy_stream, [&](StreamObject& found) {
        return copy("cuMemcpyHtoD_v2", found, to, number_of(from), bytes, true);
    });
}

static Result fill(const char* name, Stream handle, DevicePointer to, size_t bytes,
                   const std::function<void(char*)>& act) {
    return on_stream(name, handle, [&](StreamObject& stream) {
        if (bytes == 0) return Result::Success;
        Place target;
        const Result result = find_ours(to, bytes, &target);
        if (result != Result::Success) return result;
        Operation operation;
        operation.name = name;
        operation.touches.push_back(target.touch(bytes, true));
        operation.act = [act, written = target.real](Operation&) {
            act(written);
            return true;
        };
        return submit(stream, std::move(operation));
    });
}

Result cuMemsetD8Async(DevicePointer to, unsigned char value, size_t count, Stream stream) {
    return fill("cuMemsetD8Async", stream, to, count,
                [=](char* written) { std::memset(written, value, count); });
}

Result cuMemsetD32Async(DevicePointer to, unsigned value, size_t count, Stream stream) {
    if (to % sizeof value != 0) return Result::InvalidValue;
    return fill("cuMemsetD32Async", stream, to, count * sizeof value, [=](char* written) {
        for (size_t i = 0; i < count; i++)
            std::memcpy(written + i * sizeof value, &value, sizeof value);
    });
}

static bool passes(uint32_t found, uint32_t wanted, unsigned how) {
    if (how == wait_value_eq) return found == wanted;
    if (how == wait_value_and) return (found & wanted) != 0;
    if (how == wait_value_nor) return ~(found | wanted) != 0;
    return static_cast<int32_t>(found - wanted) >= 0;
}

// A value that is waited for or written: where it is, and where what its writers knew is kept.
static Result gate(StreamObject& stream, const char* name, DevicePointer address, bool writes,
                   const std::function<bool(Operation&, uint32_t*, Clock&)>& act) {
    if (address % sizeof(uint32_t) != 0) return Result::InvalidValue;
    Place place;
    const Result result = find_ours(address, sizeof(uint32_t), &place);
    if (result != Result::Success) return result;
    Operation operation;
    operation.name = name;
    operation.touches.push_back(place.touch(sizeof(uint32_t), writes));
    operation.touches.back().extent.gate = true;
    operation.act = [act, value = reinterpret_cast<uint32_t*>(place.real),
                     allocation = place.allocation.get(), offset = place.offset](Operation& self) {
        return act(self, value, allocation->history.gates[offset]);
    };
    return submit(stream, std::move(operation));
}

Result cuStreamWaitValue32_v2(Stream handle, DevicePointer address, uint32_t value,
                              unsigned flags) {
    return on_stream("cuStreamWaitValue32_v2", handle, [&](StreamObject& stream) {
        const auto pass = [=](Operation& self, const uint32_t* found, const Clock& writers) {
            if (!passes(__atomic_load_n(found, __ATOMIC_ACQUIRE), value, flags)) return false;
            self.clock.join(writers);
            self.clock.join(model().host);  // if it was the host who wrote
            return true;
        };
        return gate(stream, "cuStreamWaitValue32_v2", address, false, pass);
    });
}

Result cuStreamWriteValue32_v2(Stream handle, DevicePointer address, uint32_t value, unsigned) {
    return on_stream("cuStreamWriteValue32_v2", handle, [&](StreamObject& stream) {
        const auto write = [=](const Operation& self, uint32_t* found, Clock& writers) {
            __atomic_store_n(found, value, __ATOMIC_RELEASE);
            writers.join(self.clock);
            return true;
        };
        return gate(stream, "cuStreamWriteValue32_v2", address, true, write);
    });
}

}  // namespace tutti::cuda
