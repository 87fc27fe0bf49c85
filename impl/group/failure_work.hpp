// A work that ends when the group cannot go on, for a program that waits for that without a call.
// Any thread.
#pragma once

#include <memory>

#include "base/mutex.hpp"
#include "base/status.hpp"
#include "work/work.hpp"

namespace tutti {

class FailureWork {
public:
    // The same for all that ask.
    std::shared_ptr<Work> get() {
        const Lock lock(mutex_);
        if (!work_) {
            work_ = std::make_shared<Work>("group_failure");
            work_->set_on_cpu();
        }
        return work_;
    }
    // The first reason counts; before anybody asks, none is kept.
    void finish(const Status& why) noexcept {
        std::shared_ptr<Work> work;
        {
            const Lock lock(mutex_);
            work = work_;
        }
        if (work) work->finish(why);
    }

private:
    Mutex mutex_;
    std::shared_ptr<Work> work_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti
