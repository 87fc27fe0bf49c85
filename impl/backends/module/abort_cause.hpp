// Why an instance of a backend from outside was aborted. The first cause counts. Any thread.
#pragma once

#include <atomic>
#include <utility>

#include "base/mutex.hpp"
#include "base/status.hpp"

namespace tutti::ext {

class AbortCause {
public:
    // False: there was one before.
    bool set(const Status& status) {
        const Lock lock(mutex_);
        if (is_set_) return false;
        cause_ = status;
        is_set_ = true;
        return true;
    }
    [[nodiscard]] bool is_set() const { return is_set_; }
    [[nodiscard]] Status get() const {
        const Lock lock(mutex_);
        return cause_;
    }
    // A table's abort takes a status and a reason; the rank at fault is known here. So this is the
    // cause if the status is that of a call which the abort ended, else the status itself.
    [[nodiscard]] Status behind(Status status) const {
        const Lock lock(mutex_);
        const bool is_by_abort = status.rank < 0 && is_set_ && status.code == cause_.code;
        return is_by_abort ? cause_ : status;
    }

private:
    std::atomic<bool> is_set_{false};
    mutable Mutex mutex_;
    Status cause_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::ext
