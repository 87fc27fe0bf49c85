// For tests with the engine in them: the null backends (null_backend.cpp), which are libraries, can
// be named.
#pragma once

#include <cstdlib>
#include <string>

#include "backends/registry.hpp"

namespace tutti::test {

// A type of device beside the CPU that they serve, whose memory is the CPU's.
constexpr tutti_device_type null_device = TUTTI_CUDA;

// Before there are threads.
inline void find_null_backends() {
    const std::string folder = TUTTI_NULL_FOLDER "/libtutti-";
    const auto is_at = [&](const char* variable, const char* name) {
        setenv(variable, (folder + name + ".so").c_str(), 1);
    };
    is_at("TUTTI_NULL_MODULE", "null");
    is_at("TUTTI_NULL_POLLED_MODULE", "null_polled");
    is_at("TUTTI_NULL_INLINE_MODULE", "null_inline");
    is_at("TUTTI_NULL_WRONG_MODULE", "null_wrong");
}

// The capabilities of "null", "null?older=1".
inline Capabilities null_capabilities(const std::string& name) {
    return capabilities_of(resolve_backend(name));
}

}  // namespace tutti::test
