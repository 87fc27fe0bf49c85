// The exports of the library. A file that defines some of it includes this.
#pragma once

#include "functions.hpp"

#define FAKE_CUDA_EXPORT(member, symbol, ...) \
    [[gnu::visibility("default")]] ::tutti::cuda::Result symbol(__VA_ARGS__);

extern "C" {
namespace tutti::cuda {
TUTTI_CUDA_FUNCTIONS(FAKE_CUDA_EXPORT)
TUTTI_FAKE_CUDA_FUNCTIONS(FAKE_CUDA_EXPORT)
}  // namespace tutti::cuda
}
