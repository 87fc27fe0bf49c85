// tutti_group_reconfigure of tutti/failure.h, and the handles that it takes. Any thread.
#include "group/reconfiguring.hpp"

#include <memory>
#include <utility>

#include "arguments.hpp"
#include "group.hpp"
#include "guard.hpp"
#include "reaper.hpp"
#include "store.hpp"
#include "tutti/failure.h"

namespace capi = tutti::capi;

namespace {

std::vector<std::string> read_handles(const char* const* handles, int64_t count) {
    if (handles == nullptr) capi::refuse("handles is NULL");
    if (count == 0) capi::refuse("count is 0; a group has at least one rank");
    if (count > tutti::Group::max_ranks) {
        capi::refuse("count is ", count, "; a group has at most ", tutti::Group::max_ranks,
                     " ranks");
    }
    return capi::read_texts(handles, count, "handles");
}

}  // namespace

extern "C" {

tutti_status tutti_get_reconfigure_handle(tutti_bytes** out_handle, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        capi::need_output(out_handle, "out_handle");
        *out_handle = capi::hand_out_bytes(tutti::reconfigure_handle());
    });
}

tutti_status tutti_group_reconfigure(tutti_group* group, uint64_t id, const char* const* handles,
                                     int64_t count, const char* backend, const char* description,
                                     const tutti_group_options* options, tutti_group** out_group,
                                     tutti_error* error) {
    return capi::guard<capi::ErrorPrefix::All>(__func__, error, [&] {
        const bool is_world = group == TUTTI_GROUP_WORLD;
        const bool may_be_none = is_world || group == TUTTI_GROUP_NON_MEMBER;
        const auto before = may_be_none ? capi::find_group(group) : capi::need_group(group);
        capi::check_out_group(is_world, out_group);
        const auto listed = read_handles(handles, count);
        const auto wanted =
            capi::read_first_group(backend, description, is_world ? "world" : "unnamed", options);
        capi::drain_reaper();
        capi::Reserved<tutti_group> slot;
        const tutti::ListedProcesses processes(listed);
        const tutti::ListedMeeting meeting(id, processes,
                                           tutti::Deadline::after_ms(wanted.timeout_ms));
        auto made = meeting.make_group(wanted);
        if (before) {
            before->abandon(
                {TUTTI_ERR_ABORTED, before->rank(), 0,
                 tutti::cat("rank ", before->rank(),
                            " has reconfigured the group, and goes on in the new one")});
        }
        if (is_world) return capi::replace_world(slot.publish(std::move(made)));
        *out_group = slot.publish(std::move(made));
    });
}

}  // extern "C"
