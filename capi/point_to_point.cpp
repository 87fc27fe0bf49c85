// tutti/point_to_point.h. Any thread.
#include "tutti/point_to_point.h"

#include "buffers.hpp"
#include "guard.hpp"
#include "issue.hpp"
#include "options.hpp"

namespace capi = tutti::capi;

extern "C" {

tutti_status tutti_send(tutti_group* group, const tutti_buffer* buffer, int32_t group_dst,
                        int32_t tag, const tutti_call_options* options, tutti_work** work,
                        tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        const tutti::Send call{capi::read_buffer(buffer, "buffer"), group_dst, tag};
        capi::issue(*pin, call, capi::read_options(options).timeout_ms, work);
    });
}

tutti_status tutti_recv(tutti_group* group, const tutti_buffer* buffer, int32_t group_src,
                        int32_t tag, const tutti_call_options* options, int32_t* out_group_src,
                        tutti_work** work, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        const tutti::Receive call{capi::read_buffer(buffer, "buffer"), group_src, tag};
        const int64_t timeout_ms = capi::read_options(options).timeout_ms;
        if (work != nullptr) {
            if (out_group_src != nullptr) {
                capi::refuse("out_group_src must be NULL with a work; ask tutti_work_source_rank");
            }
            capi::issue(*pin, call, timeout_ms, work);
            return;
        }
        const int source = pin->run(call, timeout_ms);
        if (out_group_src != nullptr) *out_group_src = source;
    });
}

}  // extern "C"
