// How long a thread rests before it looks again.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace tutti::nccl {

// While NCCL works.
inline constexpr std::chrono::microseconds rest{50};

// While another rank is not ready: longer each time.
class Pauses {
public:
    std::chrono::milliseconds next() {
        return std::exchange(length_, std::min(2 * length_, longest));
    }

private:
    static constexpr std::chrono::milliseconds longest{16};
    std::chrono::milliseconds length_{1};
};

}  // namespace tutti::nccl
