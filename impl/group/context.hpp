// The call and the group go first in an error: "new_group on group \"world\" (rank 0 of 2): ...".
// Any thread.
#pragma once

#include <string>
#include <utility>

#include "base/error.hpp"
#include "core.hpp"

namespace tutti {

template <typename Act>
decltype(auto) with_context(const std::string& call, const GroupCore& group, Act&& act) {
    try {
        return std::forward<Act>(act)();
    } catch (const Error& error) {
        throw Error(group.worded(call, error.status()));
    }
}

}  // namespace tutti
