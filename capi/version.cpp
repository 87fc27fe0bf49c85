// tutti/version.h: facts, which a forked child may ask for too. Any thread.
#include "tutti/version.h"

#include "backend/registry.hpp"
#include "reduce/reduce.hpp"

extern "C" {

int32_t tutti_version(void) {
    return TUTTI_VERSION;
}

const char* tutti_version_string(void) {
    return TUTTI_VERSION_STRING;
}

int64_t tutti_dtype_size(tutti_dtype dtype) {
    return static_cast<std::int64_t>(tutti::element_size(dtype));
}

int32_t tutti_is_backend_available(const char* name) {
    return name != nullptr && *name != '\0' && tutti::why_not_available(name).empty() ? 1 : 0;
}

}  // extern "C"
