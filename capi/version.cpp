// tutti/version.h: facts, which a forked child may ask for too. Any thread.
#include "tutti/version.h"

#include "arguments.hpp"
#include "backends/registry.hpp"
#include "guard.hpp"
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
    return name != nullptr && tutti::why_not_available(name).ok() ? 1 : 0;
}

tutti_status tutti_check_backend_available(const char* name, tutti_error* error) {
    return tutti::capi::guard<tutti::capi::ErrorPrefix::All>(__func__, error, [&] {
        const auto why = tutti::why_not_available(tutti::capi::read_text(name, "name"));
        if (!why.ok()) throw tutti::Error(why);
    });
}

}  // extern "C"
