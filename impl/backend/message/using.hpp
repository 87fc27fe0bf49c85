// While it lives, the channel is there and may be posted to: close() waits for it.
#pragma once

#include "base/error.hpp"
#include "point_to_point.hpp"

namespace tutti {

class Using {
public:
    explicit Using(PointToPoint& engine) : engine_(engine) {
        const Lock lock(engine_.mutex_);
        if (engine_.closed_) throw Error(engine_.aborted_);
        ++engine_.users_;
    }
    // For letting go of transfers, which must happen in any case.
    struct Anyway {};
    Using(PointToPoint& engine, Anyway /*unused*/) : engine_(engine) {
        const Lock lock(engine_.mutex_);
        ++engine_.users_;
    }
    ~Using() {
        const Lock lock(engine_.mutex_);
        if (--engine_.users_ == 0) engine_.unused_.notify_all();
    }
    Using(const Using&) = delete;
    Using& operator=(const Using&) = delete;

private:
    PointToPoint& engine_;
};

}  // namespace tutti
