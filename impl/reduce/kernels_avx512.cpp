// The kernels for processors with AVX-512 (F, BW, DQ, VL); CMakeLists.txt gives this file the
// flags. Any thread.
#include "table.hpp"

namespace tutti {
static_assert(widest == 64, "this file needs its compiler flags");
constexpr Kernels kernels_avx512 = make_kernels();
}  // namespace tutti
