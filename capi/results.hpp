// Objects and byte strings that operations receive: as handles in the caller's places, or held by
// the work until they are taken. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "handle.hpp"
#include "refusal.hpp"
#include "work/work.hpp"

namespace tutti::capi {

// Handles for values: all slots are taken first, so that handing out cannot fail halfway.
template <typename Handle>
class Places {
public:
    using Value = std::shared_ptr<typename HandleTraits<Handle>::Object>;

    Places(Handle** out, size_t count) : out_(out), slots_(count) {}
    void publish(std::vector<Value> values) noexcept {
        for (size_t i = 0; i < slots_.size(); ++i)
            out_[i] = slots_[i].publish(std::move(values[i]));
    }

private:
    Handle** out_;
    std::vector<Reserved<Handle>> slots_;
};

template <typename Handle>
class HeldResults final : public Results {
public:
    using Value = typename Places<Handle>::Value;

    explicit HeldResults(size_t count) : count_(count) {}

    // Before the work is done.
    void put(std::vector<Value> values) {
        const Lock lock(mutex_);
        values_ = std::move(values);
    }
    // After that; once. Throws INVALID_ARGUMENT.
    void take(Handle** out, int64_t count, const char* argument) {
        if (count < 0 || static_cast<size_t>(count) != count_) {
            refuse("count is ", count, "; this operation has received ", count_);
        }
        if (out == nullptr && count > 0) refuse(argument, " is NULL but count is ", count);
        Places<Handle> places(out, count_);
        const Lock lock(mutex_);
        if (std::exchange(is_taken_, true)) refuse("the results of this work were taken before");
        places.publish(std::move(values_));
    }

private:
    const size_t count_;
    Mutex mutex_;
    std::vector<Value> values_ TUTTI_GUARDED_BY(mutex_);
    bool is_taken_ TUTTI_GUARDED_BY(mutex_) = false;
};

}  // namespace tutti::capi
