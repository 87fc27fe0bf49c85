// The facts of a reducer. Only its group changes, while nothing else of it goes on. Any thread.
#pragma once

#include <memory>

#include "group/group.hpp"
#include "parameter.hpp"

namespace tutti {

struct ReducerModel {
    std::shared_ptr<Group> group;  // the reducer's alone
    const Parameters parameters;
    const Indices order;  // in which gradients are expected at first
    const ReducerOptions options;

    [[nodiscard]] size_t size() const { return parameters.size(); }
};

}  // namespace tutti
