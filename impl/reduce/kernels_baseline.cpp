// The kernels for every processor the rest of the library runs on. Any thread.
#include "table.hpp"

namespace tutti {
constexpr Kernels kernels_baseline = make_kernels();
}
