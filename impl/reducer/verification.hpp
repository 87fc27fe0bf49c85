// How ranks find out whether they make a reducer of the same model. The caller's thread.
#pragma once

#include <memory>
#include <span>

#include "group/group.hpp"
#include "model.hpp"
#include "power_sgd.hpp"

namespace tutti {

// A group of all the ranks of `parent`, for a reducer, be it new on a rank or not. All ranks throw
// MISMATCH, with both sides, if they differ. Does not look at the model's group.
std::shared_ptr<Group> make_reducer_group(Group& parent, const ReducerModel& model);
// Instead of that, where this rank has wrong arguments: fails the others' calls.
void decline_reducer_group(Group& parent, const Status& why) noexcept;

// All ranks throw MISMATCH, with both sides, if they differ. `group` is a reducer's.
void compare_power_sgd(Group& group, const Parameters& parameters, const PowerSgdOptions& options);
void decline_power_sgd(Group& group, const Status& why) noexcept;

// Throws INVALID_ARGUMENT or UNSUPPORTED for what no reducer can have.
void check_parameters(const Parameters& parameters, std::span<const View> values,
                      std::span<const size_t> order);
// Throws UNSUPPORTED if the parameters are on a device, and the group has nothing but that.
void need_cpu(const Parameters& parameters, const Group& group, const char* feature);
void check_options(const Parameters& parameters, const ReducerOptions& options,
                   const Group& parent);

}  // namespace tutti
