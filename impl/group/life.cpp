#include "life.hpp"

#include <utility>

#include "base/error.hpp"

namespace tutti {

bool GroupLife::fail(const Status& status, const Status& for_others) noexcept {
    const Lock lock(mutex_);
    if (is_destroyed_ || !failure_.ok()) return false;
    failure_ = status;
    failure_for_others_ = for_others;
    gate_.shut();
    return true;
}

std::optional<Status> GroupLife::end() const {
    const Lock lock(mutex_);
    if (failure_.ok() && !is_destroyed_) return std::nullopt;
    return failure_;
}

void GroupLife::check_goes_on(const char* operation, bool also_failed) const {
    const Lock lock(mutex_);
    if (is_destroyed_) {
        throw Error(TUTTI_ERR_INVALID_HANDLE, cat(identity_.label(), " was destroyed"));
    }
    if (also_failed || failure_.ok()) return;
    Status status = failure_;
    status.message =
        cat(operation, " on ", identity_.label(), ", which has failed before: ", status.message);
    throw Error(std::move(status));
}

void GroupLife::check_turn_after_end() const {
    const Lock lock(mutex_);
    if (failure_.ok()) return;
    Status status = failure_for_others_;
    status.message = cat("the group has failed before: ", status.message);
    throw Error(std::move(status));
}

bool GroupLife::begin_destroy() {
    const Lock lock(mutex_);
    if (is_destroyed_) {
        throw Error(TUTTI_ERR_INVALID_HANDLE, cat(identity_.label(), " was destroyed before"));
    }
    is_destroyed_ = true;
    gate_.shut();
    return !failure_.ok();
}

void GroupLife::end_destroy() noexcept {
    const Lock lock(mutex_);
    has_all_ended_ = true;
    has_ended_.notify_all();
}

void GroupLife::wait_for_end() noexcept {
    Lock lock(mutex_);
    while (!has_all_ended_) has_ended_.wait(lock);
}

}  // namespace tutti
