// tutti/bytes.h. Any thread.
#include "tutti/bytes.h"

#include "guard.hpp"
#include "handle.hpp"

namespace capi = tutti::capi;

extern "C" {

const void* tutti_bytes_data(tutti_bytes* bytes) {
    if (capi::forked()) return nullptr;
    const capi::Pin pin(bytes);
    return pin ? pin->c_str() : nullptr;
}

size_t tutti_bytes_size(tutti_bytes* bytes) {
    if (capi::forked()) return 0;
    const capi::Pin pin(bytes);
    return pin ? pin->size() : 0;
}

void tutti_bytes_release(tutti_bytes* bytes) {
    if (!capi::forked()) capi::release(bytes);
}

}  // extern "C"
