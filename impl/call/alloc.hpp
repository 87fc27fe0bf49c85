// Memory for a rank that the others on its host may see, as data.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/status.hpp"
#include "fingerprint.hpp"
#include "view.hpp"

namespace tutti {

namespace shm {
class Segment;
struct Demand;
}  // namespace shm

struct Alloc {
    // Written while the call runs.
    struct Outcome {
        std::shared_ptr<shm::Segment> memory;  // null: this rank can have none,
        Status why_not;                        // and why
        int without = -1;                      // the first rank that can have none, on all ranks
    };

    // Memory that the backend for the device has given this rank.
    struct OnDevice {
        Device device;
        void* memory;
        size_t bytes;
    };

    size_t bytes = 0;  // of the CPU; ranks may differ
    std::shared_ptr<Outcome> outcome = std::make_shared<Outcome>();
    std::optional<OnDevice> on_device{};

    // Makes this rank's memory, unless it was made or refused.
    void make() const;
    void refuse(const Status& why) const { outcome->why_not = why; }
    // If all ranks together want too much, of which they all know: true.
    [[nodiscard]] bool refuse_excess(const std::vector<shm::Demand>& demands) const;
};

inline void check(const Alloc& /*call*/, int /*rank*/, int /*size*/) {}
inline const char* call_name(const Alloc&) {
    return "memory_alloc";
}
inline Fingerprint fingerprint(const Alloc&) {
    return {CallKind::Alloc, 0, 0, -1, 0};
}

}  // namespace tutti
