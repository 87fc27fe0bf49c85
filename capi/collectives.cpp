// tutti/collectives.h. Any thread.
#include "tutti/collectives.h"

#include "buffers.hpp"
#include "guard.hpp"
#include "issue.hpp"
#include "options.hpp"

namespace capi = tutti::capi;

extern "C" {

void tutti_call_options_init(tutti_call_options* options, size_t size) {
    capi::write_default_options(options, size);
}

tutti_status tutti_broadcast(tutti_group* group, const tutti_buffer* buffer, int32_t group_src,
                             const tutti_call_options* options, tutti_work** work,
                             tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        const tutti::Broadcast call{capi::read_buffer(buffer, "buffer"), group_src};
        capi::issue(*pin, call, capi::read_options(options).timeout_ms, work);
    });
}

tutti_status tutti_all_reduce(tutti_group* group, const tutti_buffer* input,
                              const tutti_buffer* output, tutti_reduce_op op,
                              const tutti_call_options* options, tutti_work** work,
                              tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        const tutti::View result = capi::read_buffer(output, "output");
        const tutti::AllReduce call{capi::read_input(input, result), result, op};
        capi::issue(*pin, call, capi::read_options(options).timeout_ms, work);
    });
}

tutti_status tutti_barrier(tutti_group* group, const tutti_call_options* options, tutti_work** work,
                           tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        capi::issue(*pin, tutti::Barrier{}, capi::read_options(options).timeout_ms, work);
    });
}

}  // extern "C"
