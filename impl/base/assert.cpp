#include "assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace tutti {

void assertion_failed(const char* condition, const char* file, int line) noexcept {
    std::fprintf(stderr, "tutti: internal error: %s does not hold (%s:%d)\n", condition, file,
                 line);
    std::abort();
}

}  // namespace tutti
