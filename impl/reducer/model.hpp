// The facts of a reducer that never change. Any thread.
#pragma once

#include <memory>

#include "group/group.hpp"
#include "parameter.hpp"

namespace tutti {

struct ReducerModel {
    const std::shared_ptr<Group> group;  // the reducer's alone
    const Parameters parameters;
    const ReducerOptions options;

    [[nodiscard]] size_t size() const { return parameters.size(); }
};

}  // namespace tutti
