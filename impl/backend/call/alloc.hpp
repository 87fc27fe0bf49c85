// The rank has made memory that the others on its host may see, as data.
#pragma once

#include <memory>

#include "fingerprint.hpp"

namespace tutti {

namespace shm {
class Segment;
}

struct Alloc {
    std::shared_ptr<shm::Segment> memory;  // null: it could make none
    // Written when all ranks have called: the first that could make none, or -1.
    std::shared_ptr<int> without = std::make_shared<int>(-1);
};

inline void check(const Alloc& /*call*/, int /*rank*/, int /*size*/) {}
inline const char* call_name(const Alloc&) {
    return "alloc";
}
inline Fingerprint fingerprint(const Alloc&) {
    return {CallKind::Alloc, 0, 0, -1, 0};
}

}  // namespace tutti
