// The kernels for processors with AVX2 and F16C; CMakeLists.txt gives this file the flags. Any
// thread.
#include "table.hpp"

namespace tutti {
static_assert(widest >= 32, "this file needs its compiler flags");
constexpr Kernels kernels_avx2 = make_kernels();
}  // namespace tutti
