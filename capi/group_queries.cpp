// The functions of tutti/group.h that tell about groups and about the process. Any thread.
#include <algorithm>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "base/environment.hpp"
#include "group.hpp"
#include "guard.hpp"
#include "options.hpp"

namespace capi = tutti::capi;

extern "C" {

int32_t tutti_get_rank(tutti_group* group) {
    if (const capi::GroupPin pin = capi::find_group(group)) return pin->rank();
    const auto coalescing = capi::find_coalescing(group);
    return coalescing ? coalescing->group().rank() : -1;
}

int32_t tutti_get_world_size(tutti_group* group) {
    if (const capi::GroupPin pin = capi::find_group(group)) return pin->size();
    const auto coalescing = capi::find_coalescing(group);
    return coalescing ? coalescing->group().size() : -1;
}

const char* tutti_get_backend(tutti_group* group) {
    const capi::GroupPin pin = capi::find_group(group);
    return pin ? pin->backend_name() : nullptr;
}

const char* tutti_get_backend_for_device(tutti_group* group, tutti_device_type device_type) {
    const capi::GroupPin pin = capi::find_group(group);
    return pin ? pin->backends().name_for(device_type) : nullptr;
}

tutti_status tutti_get_backend_config(tutti_group* group, tutti_bytes** out_config,
                                      tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        capi::need_output(out_config, "out_config");
        *out_config = capi::hand_out<tutti_bytes>(
            std::make_shared<const std::string>(pin->backends().config()));
    });
}

int32_t tutti_group_is_reproducible(tutti_group* group) {
    const capi::GroupPin pin = capi::find_group(group);
    return pin ? static_cast<int32_t>(pin->identity().reproducible) : -1;
}

tutti_status tutti_group_get_bound_device(tutti_group* group, tutti_device_type* out_device_type,
                                          int32_t* out_device_index, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        capi::need_output(out_device_type, "out_device_type");
        capi::need_output(out_device_index, "out_device_index");
        *out_device_type = pin->identity().bound.type;
        *out_device_index = pin->identity().bound.index;
    });
}

int32_t tutti_get_group_rank(tutti_group* group, int32_t global_rank) {
    const capi::GroupPin pin = capi::find_group(group);
    if (!pin) return -1;
    const std::vector<int>& ranks = pin->global_ranks();
    const auto found = std::ranges::find(ranks, global_rank);
    return found == ranks.end() ? -1 : static_cast<int32_t>(found - ranks.begin());
}

int32_t tutti_get_global_rank(tutti_group* group, int32_t group_rank) {
    const capi::GroupPin pin = capi::find_group(group);
    if (!pin || group_rank < 0 || group_rank >= pin->size()) return -1;
    return pin->global_ranks()[static_cast<size_t>(group_rank)];
}

tutti_status tutti_get_process_group_ranks(tutti_group* group, int32_t* out_ranks, int64_t count,
                                           tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        capi::write_numbers(pin->global_ranks(), out_ranks, count, "out_ranks");
    });
}

tutti_status tutti_group_set_timeout(tutti_group* group, int64_t timeout_ms, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        if (timeout_ms == 0)
            capi::refuse("timeout_ms is 0; it must be above 0, or TUTTI_NO_TIMEOUT");
        capi::check_timeout(timeout_ms, "timeout_ms");
        pin->set_timeout_ms(timeout_ms);
    });
}

tutti_status tutti_group_get_timeout(tutti_group* group, int64_t* out_timeout_ms,
                                     tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        capi::need_output(out_timeout_ms, "out_timeout_ms");
        *out_timeout_ms = pin->timeout_ms();
    });
}

tutti_status tutti_group_get_name(tutti_group* group, tutti_bytes** out_name, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        capi::need_output(out_name, "out_name");
        *out_name = capi::hand_out<tutti_bytes>(std::make_shared<const std::string>(pin->name()));
    });
}

tutti_status tutti_get_failed_ranks(tutti_group* group, int32_t* out_ranks, int64_t capacity,
                                    int64_t* out_count, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        const size_t room = capi::read_count(capacity, "capacity");
        if (out_ranks == nullptr && room > 0) {
            capi::refuse("out_ranks is NULL but capacity is ", capacity);
        }
        capi::need_output(out_count, "out_count");
        const std::vector<int> ranks = pin->failed_ranks();
        std::copy_n(ranks.begin(), std::min(room, ranks.size()), out_ranks);
        *out_count = static_cast<int64_t>(ranks.size());
    });
}

int32_t tutti_get_pg_count(void) {
    const capi::GroupPin pin = capi::find_group(TUTTI_GROUP_WORLD);
    if (!pin) return 0;
    const bool is_first = pin->first().get() == pin.get();  // it is not in the tree
    return static_cast<int32_t>(pin->tree().size()) + (is_first ? 1 : 0);
}

const char* tutti_get_default_backend_for_device(const char* device) {
    const std::string_view name(device == nullptr ? "" : device);
    const size_t colon = std::min(name.find(':'), name.size());
    const std::string_view index = name.substr(colon);
    const auto digits = index.substr(std::min<size_t>(1, index.size()));
    if (index == ":" || digits.find_first_not_of("0123456789") != digits.npos) return nullptr;
    const std::string_view type = name.substr(0, colon);
    if (type == "cpu") return "gloo";
    if (type == "cuda") return "nccl";
    return type == "xpu" ? "xccl" : nullptr;
}

int32_t tutti_is_torchelastic_launched(void) {
    return tutti::environment("TORCHELASTIC_RUN_ID") ? 1 : 0;
}

}  // extern "C"
