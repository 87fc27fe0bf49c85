// From a tutti_group to its Group, the default group included. Any thread.
#pragma once

#include "handle.hpp"
#include "tutti/group.h"

namespace tutti::capi {

using GroupPin = Pin<tutti_group>;

// Nothing if the handle is no group, or the default group does not exist.
GroupPin find_group(tutti_group* group) noexcept;
// Throws INVALID_HANDLE instead.
GroupPin need_group(tutti_group* group);

}  // namespace tutti::capi
