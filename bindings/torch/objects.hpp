// Values as MessagePack and byte strings between ranks, as ranks of all languages exchange them:
// the calls of tutti/object_collectives.h and tutti/object_point_to_point.h.
#pragma once

#include <pybind11/pybind11.h>

namespace tutti_torch {

// Adds the functions that tutti_torch/ calls. They take MessagePack, checked here, or bytes as
// they are.
void add_object_calls(pybind11::module_& module);

}  // namespace tutti_torch
