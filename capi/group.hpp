// From a tutti_group to its Group, the default group included. Any thread.
#pragma once

#include <memory>
#include <string>

#include "handle.hpp"
#include "tutti/group.h"

namespace tutti::capi {

using GroupPin = Pin<tutti_group>;

// Nothing if the handle is no group, or the default group does not exist.
GroupPin find_group(tutti_group* group) noexcept;
// Throws INVALID_HANDLE instead, naming the argument.
GroupPin need_group(tutti_group* group, const std::string& argument = "group");

// An owned handle, or TUTTI_GROUP_NON_MEMBER for nothing.
tutti_group* hand_out_group(std::shared_ptr<Group> group);

// With defaults for what the caller does not say.
tutti_group_options read_group_options(const tutti_group_options* given);

// By "env://", as tutti_init_process_group does.
void make_world(const char* backend, const tutti_group_options* options);

}  // namespace tutti::capi
