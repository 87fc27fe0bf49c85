// tutti/failure.h. Any thread.
#include "tutti/failure.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "group.hpp"
#include "group/ranks.hpp"
#include "guard.hpp"
#include "handle.hpp"
#include "options.hpp"

namespace capi = tutti::capi;

namespace {

// Ascending; not this rank, which takes part.
std::vector<int> read_excluded(const int32_t* ranks, int64_t given_count,
                               const tutti::Group& group) {
    const size_t count = capi::read_count(given_count, "count");
    if (ranks == nullptr && count > 0) {
        capi::refuse("ranks_to_exclude is NULL but count is ", count);
    }
    if (count == 0) return {};
    std::vector<int> excluded =
        tutti::checked_ranks({ranks, count}, group.size(), 0, "ranks_to_exclude");
    if (std::ranges::binary_search(excluded, group.rank())) {
        capi::refuse("ranks_to_exclude has this rank, ", group.rank(),
                     "; only ranks that are not excluded call");
    }
    return excluded;
}

tutti::ShrinkOptions read_shrink(const tutti::Group& group, const int32_t* ranks_to_exclude,
                                 int64_t count, uint32_t flags, const char* description,
                                 const tutti_shrink_options* options) {
    const tutti_shrink_options given = capi::read_options(options);
    tutti::ShrinkOptions wanted;
    wanted.excluded = read_excluded(ranks_to_exclude, count, group);
    if (flags > TUTTI_SHRINK_ABORT) {
        capi::refuse("shrink_flags is ", flags,
                     "; it must be TUTTI_SHRINK_DEFAULT (0) or TUTTI_SHRINK_ABORT (1)");
    }
    wanted.ends_calls = flags == TUTTI_SHRINK_ABORT;
    wanted.description = description == nullptr ? "" : description;
    wanted.timeout_ms = given.timeout_ms;
    if (given.min_size > static_cast<uint32_t>(group.size())) {
        capi::refuse("options.min_size is ", given.min_size, ", and the group has ", group.size(),
                     " ranks");
    }
    wanted.min_size = std::max(1, static_cast<int>(given.min_size));
    return wanted;
}

// Reads the arguments. If they are refused, the others' calls fail, which would wait for this rank.
template <typename Read>
auto or_decline(tutti::Group& group, const char* function, Read&& read) {
    group.identity().check_may_wait(function);
    try {
        return read();
    } catch (const tutti::Error& error) {
        group.decline(function, error.status());
        throw;
    }
}

tutti::Status revoked(const tutti::Group& group, const char* how, const char* reason) {
    std::string message = tutti::cat("rank ", group.rank(), " ", how, " the group");
    if (reason != nullptr && *reason != '\0') message += tutti::cat(": ", reason);
    return {TUTTI_ERR_ABORTED, group.rank(), 0, std::move(message)};
}

}  // namespace

extern "C" {

void tutti_shrink_options_init(tutti_shrink_options* options, size_t size) {
    capi::write_default_options(options, size);
}

tutti_status tutti_shrink_group(tutti_group* group, const int32_t* ranks_to_exclude, int64_t count,
                                uint32_t shrink_flags, const char* description,
                                const tutti_shrink_options* options, tutti_group** out_group,
                                tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        tutti_group* const world = group == TUTTI_GROUP_WORLD ? capi::world_handle() : nullptr;
        const capi::GroupPin pin = capi::need_group(world != nullptr ? world : group);
        const auto wanted = or_decline(*pin, "shrink_group", [&] {
            capi::check_out_group(world != nullptr, out_group);
            return read_shrink(*pin, ranks_to_exclude, count, shrink_flags, description, options);
        });
        capi::Reserved<tutti_group> slot;
        tutti_group* const made = slot.publish(pin->shrink(wanted));
        if (world != nullptr) return capi::replace_world(world, made);
        *out_group = made;
    });
}

tutti_status tutti_group_agree(tutti_group* group, uint64_t* flags, int64_t timeout_ms,
                               tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        or_decline(*pin, "group_agree", [&] {
            capi::need_output(flags, "flags");
            capi::check_timeout(timeout_ms, "timeout_ms");
        });
        *flags = pin->agree(*flags, timeout_ms);
    });
}

tutti_status tutti_group_revoke(tutti_group* group, const char* reason, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        pin->revoke(revoked(*pin, "revoked", reason));
    });
}

tutti_status tutti_group_abort(tutti_group* group, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        pin->abort(revoked(*pin, "aborted", nullptr));
    });
}

tutti_status tutti_group_failure(tutti_group* group, tutti_work** out_work, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        capi::need_output(out_work, "out_work");
        *out_work = capi::hand_out<tutti_work>(pin->failure_work());
    });
}

}  // extern "C"
