// A group: how it is made, split, shrunk and ended.
#include <tutti/failure.h>

#include <algorithm>
#include <utility>

#include "backend.hpp"
#include "store.hpp"

namespace tutti_torch {
namespace {

tutti_group* make_group(const Place& place, const GroupOptions& options) {
    tutti_group_options group_options = TUTTI_GROUP_OPTIONS_INIT;
    group_options.reproducible = options.reproducible ? 1 : 0;
    group_options.timeout_ms = options.timeout.count();
    if (place.device && place.device->is_cuda()) {
        group_options.device_type = TUTTI_CUDA;
        group_options.device_index = place.device->index();
    }
    const char* tutti_backend =
        options.tutti_backend.empty() ? nullptr : options.tutti_backend.c_str();
    tutti_store* const store = wrap_store(place.store);
    tutti_group* group = nullptr;
    tutti_error error = no_error();
    const tutti_status status =
        tutti_group_create(tutti_backend, store, place.name.c_str(), place.rank, place.size,
                           &group_options, &group, &error);
    tutti_store_release(store);
    check(status, error);
    return group;
}

// The options of a group made from another: what the caller gave, or what that one has.
c10::intrusive_ptr<GroupOptions> options_for(
    const c10::intrusive_ptr<c10d::Backend::Options>& given, const GroupOptions& parent) {
    if (const auto* own = dynamic_cast<const GroupOptions*>(given.get())) {
        return c10::make_intrusive<GroupOptions>(*own);
    }
    auto options = c10::make_intrusive<GroupOptions>(parent);
    if (given) options->timeout = given->timeout;
    return options;
}

}  // namespace

Backend::Backend(const Place& place, c10::intrusive_ptr<GroupOptions> options)
    : Backend(make_group(place, *options), place.rank, place.size, options) {}

Backend::Backend(tutti_group* group, int rank, int size, c10::intrusive_ptr<GroupOptions> options)
    : c10d::Backend(rank, size), group_(group), options_(std::move(options)) {
    init();
}

Backend::~Backend() {
    if (batch_) drop_batch();
    tutti_group_release(group_);
}

c10::intrusive_ptr<c10d::Backend> Backend::split(
    const c10::intrusive_ptr<c10d::Store>& store, const std::vector<int>& ranks,
    const c10::intrusive_ptr<c10d::Backend::Options>& opts) {
    const auto own = std::find(ranks.begin(), ranks.end(), rank_);
    if (own == ranks.end()) return nullptr;
    auto options = options_for(opts, *options_);
    Place place{store, compat::group_name(*options), static_cast<int>(own - ranks.begin()),
                static_cast<int>(ranks.size()), bound_device_id_};
    return c10::make_intrusive<Backend>(place, std::move(options));
}

c10::intrusive_ptr<c10d::Backend> Backend::shrink(
    const std::vector<int64_t>& ranks_to_exclude, int shrink_flags,
    const c10::intrusive_ptr<c10d::Backend::Options>& opts) {
    const std::vector<int32_t> excluded(ranks_to_exclude.begin(), ranks_to_exclude.end());
    tutti_group* group = nullptr;
    tutti_error error = no_error();
    check(tutti_shrink_group(group_, excluded.data(), static_cast<int64_t>(excluded.size()),
                             static_cast<uint32_t>(shrink_flags), nullptr, nullptr, &group, &error),
          error);
    has_ended_ = true;  // it is released, not destroyed: the new group belongs to it
    return c10::make_intrusive<Backend>(group, tutti_get_rank(group), tutti_get_world_size(group),
                                        options_for(opts, *options_));
}

void Backend::setTimeout(Milliseconds timeout) {
    tutti_error error = no_error();
    check(tutti_group_set_timeout(group_, timeout.count(), &error), error);
    options_->timeout = timeout;
}

void Backend::abort() {
    tutti_error error = no_error();
    check(tutti_group_abort(group_, &error), error);
}

void Backend::shutdown() {
    if (has_ended_.exchange(true)) return;
    tutti_error error = no_error();
    check(tutti_destroy_process_group(group_, nullptr, &error), error);
}

}  // namespace tutti_torch
