#include "group.hpp"

#include <algorithm>

#include "backends/registry.hpp"
#include "base/error.hpp"
#include "foreign_peers.hpp"
#include "hooks/hooks.hpp"
#include "membership/world.hpp"
#include "notes.hpp"
#include "progress/processors.hpp"

namespace tutti {

namespace {

std::vector<bool> ranks_on_this_host(const GroupCore& group) {
    std::vector<bool> here;
    for (int rank = 0; rank < group.identity.size; ++rank) {
        here.push_back(rank == group.identity.rank || group.membership->same_host(rank));
    }
    return here;
}

// A processor for a thread beside those of the ranks.
bool is_processor_spare(const std::vector<bool>& on_this_host) {
    const auto ranks_here = static_cast<size_t>(std::ranges::count(on_this_host, true));
    return has_spare_processor(processors_of_this_process(), ranks_here);
}

const char* name_of_backends(const GroupCore& group) {
    if (!group.backend_map.has_cpu) return group.backend_map.name();
    return static_backend_name(group.backends.cpu().backend->name());
}

}  // namespace

std::shared_ptr<Group> Group::create(const GroupOptions& options) {
    if (options.size < 1 || options.size > max_ranks) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("world_size is ", options.size, ", not from 1 to ", max_ranks));
    }
    if (options.rank < 0 || options.rank >= options.size) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("rank is ", options.rank, ", and world_size is ", options.size));
    }
    record::turn_on(options.rank, options.size);
    hooks::add_by_environment();
    const record::Note note{.kind = static_cast<uint8_t>(record::Kind::InitGroup),
                            .count = options.size,
                            .timeout_ms = options.timeout_ms,
                            .text = options.name};
    return record::as_call({note, record::state::started}, [&](record::Call&) {
        return std::shared_ptr<Group>(new Group(make_first_group(options), nullptr));
    });
}

std::shared_ptr<Group> Group::split(const SplitOptions& options) {
    auto call = record_of(record::Kind::SplitGroup, core_, options.timeout_ms, options.function);
    return record::as_call(std::move(call), [&](record::Call&) {
        return add_to_tree(splitting_.split(options), options.function);
    });
}

std::shared_ptr<Group> Group::shrink(const ShrinkOptions& options) {
    auto call = record_of(record::Kind::ShrinkGroup, core_, options.timeout_ms);
    return record::as_call(std::move(call), [&](record::Call&) {
        return add_to_tree(survivors_.shrink(options), "shrink_group");
    });
}

uint64_t Group::agree(uint64_t flags, int64_t timeout_ms) {
    return record::as_call(record_of(record::Kind::Agree, core_, timeout_ms),
                           [&](record::Call&) { return survivors_.agree(flags, timeout_ms); });
}

Group::Group(GroupParts parts, std::shared_ptr<Group> first)
    : first_(std::move(first)),
      tree_(first_ ? first_->tree_ : std::make_shared<GroupTree>()),
      core_(std::move(parts), {this, first_ ? static_cast<const void*>(first_.get()) : this}),
      backend_name_(name_of_backends(core_)),
      on_this_host_(ranks_on_this_host(core_)),
      all_on_this_host_(std::ranges::find(on_this_host_, false) == on_this_host_.end()),
      same_memory_(core_.backends.cpu().backend->same_memory()),
      collectives_(core_, is_processor_spare(on_this_host_)) {
    core_.begin();
}

std::shared_ptr<Group> Group::add_to_tree(std::optional<GroupParts> parts,
                                          const std::string& function) {
    if (!parts) return nullptr;
    std::shared_ptr<Group> group(new Group(std::move(*parts), first()));
    if (tree_->add(group)) return group;
    throw Error(TUTTI_ERR_ABORTED,
                cat(function, " on ", label(), ": the group was destroyed meanwhile"));
}

Group::~Group() {
    try {
        destroy();
    } catch (const Error&) {  // destroyed before
    }
}

bool Group::same_host(int rank) const {
    return rank >= 0 && rank < size() && on_this_host_[static_cast<size_t>(rank)];
}

std::shared_ptr<void> Group::alloc_of_backend(const Device& device, size_t bytes) {
    try {
        const InFlight entry(core_.life, "memory_alloc");
        return core_.backends.alloc_memory(device, bytes);
    } catch (const Error&) {  // the call itself says what is wrong with the group
        return nullptr;
    }
}

void Group::revoke(const Status& cause) {
    check_has_membership(identity(), "group_revoke");
    abort(cause);
}

void Group::abort(const Status& cause) {
    const InFlight entry(core_.life, "group_abort", InFlight::Of::Any);
    core_.revoke(cause);
}

// Groups made from this one end first: they may move their data through the same connections.
void Group::end_tree() noexcept {
    for (const auto& group : tree_->end()) {
        try {
            group->destroy();
        } catch (const Error&) {  // another thread is at it
            group->core_.life.wait_for_end();
        }
    }
}

void Group::destroy(int64_t leave_ms) {
    identity().check_may_be_destroyed();
    const bool had_failed = core_.life.begin_destroy();
    auto call = record_of(record::Kind::DestroyGroup, core_, leave_ms, name());
    record::as_call(std::move(call), [&](record::Call&) {
        messages_.close();
        devices_.close(leave_ms);
        core_.membership->shared_world()->set_leave_ms(leave_ms);
        if (!first_) end_tree();
        tree_->remove(*this);
        core_.end(!had_failed);
    });
}

}  // namespace tutti
