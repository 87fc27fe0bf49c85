// From a tutti_group to its Group, the default group included. Any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "handle.hpp"
#include "tutti/group.h"

namespace tutti::capi {

using GroupPin = Pin<tutti_group>;

// Nothing if the handle is no group, or the default group does not exist.
GroupPin find_group(tutti_group* group) noexcept;
// Throws INVALID_HANDLE instead, naming the argument.
GroupPin need_group(tutti_group* group, const Argument& argument = {"group"});

// A group, or a coalescing of its calls: what collectives may be called on.
class CallTarget {
public:
    // Throws INVALID_HANDLE, naming the argument.
    explicit CallTarget(tutti_group* group);

    Group* operator->() const { return group_; }
    Group& operator*() const { return *group_; }
    // Null: the calls run.
    [[nodiscard]] Coalescing* coalescing() const {
        return coalescing_ ? coalescing_->get() : nullptr;
    }

private:
    GroupPin pin_;
    std::optional<Pin<CoalescingHandle>> coalescing_;
    Group* group_;
};

// Nothing if the handle is no coalescing.
Pin<CoalescingHandle> find_coalescing(tutti_group* group) noexcept;

// An owned handle, or TUTTI_GROUP_NON_MEMBER for nothing.
tutti_group* hand_out_group(std::shared_ptr<Group> group);

// With defaults for what the caller does not say.
tutti_group_options read_group_options(const tutti_group_options* given);
// The options of a first group, without rank and size. `otherwise`: its name if it has no
// description.
GroupOptions read_first_group(const char* backend, const char* description, const char* otherwise,
                              const tutti_group_options* options);

// Where a call that may replace the default group puts the new one: nowhere, if it does.
void check_out_group(bool replaces_world, tutti_group** out_group);
// The default group is that one from now on. The one before, if there was one, is released; if the
// new one was made from it, it stays as the first of the tree, and they end together.
void replace_world(tutti_group* made);
// The same, but throws ABORTED and releases the new one if the default group is not `before` any
// more: another thread has destroyed it.
void replace_world(tutti_group* before, tutti_group* made);
// The handle behind TUTTI_GROUP_WORLD; null: there is none.
[[nodiscard]] tutti_group* world_handle() noexcept;

// By "env://", with the backend that tutti_init_process_group chooses.
void make_world(const tutti_group_options* options);

}  // namespace tutti::capi
