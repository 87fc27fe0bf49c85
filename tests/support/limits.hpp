// A limit of this process that a test lowers while the object lives.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "support/unit.hpp"

namespace tutti::test {

class LowLimit {
public:
    LowLimit(__rlimit_resource resource, rlim_t value) : resource_(resource) {
        assert_int_equal(::getrlimit(resource_, &before_), 0);
        const rlimit low{value, before_.rlim_max};
        assert_int_equal(::setrlimit(resource_, &low), 0);
    }
    ~LowLimit() { (void)::setrlimit(resource_, &before_); }
    LowLimit(const LowLimit&) = delete;
    LowLimit& operator=(const LowLimit&) = delete;

private:
    __rlimit_resource resource_;
    rlimit before_{};
};

// Nothing can be opened: what is open has higher numbers, or is standard input, output and error.
struct NoDescriptors : LowLimit {
    NoDescriptors() : LowLimit(RLIMIT_NOFILE, 3) {}
};

// No mapping of a page or more can be made; small blocks of memory that was mapped before can.
struct NoAddressSpace : LowLimit {
    NoAddressSpace() : LowLimit(RLIMIT_AS, 1 << 20) {}
};

}  // namespace tutti::test
