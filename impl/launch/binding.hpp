// The processors to which --bind-to binds each rank of this node. Any thread; reads /sys.
#pragma once

#include <string>
#include <vector>

#include "option_values.hpp"
#include "processors.hpp"

namespace tutti::launch {

// A set for each rank, of those allowed; no sets: the ranks are not bound. `root` stands before the
// paths of /sys. INVALID_ARGUMENT if each rank is to have a core and there are too few.
std::vector<ProcessorSet> choose_processors(BindTo bind_to, int ranks, const ProcessorSet& allowed,
                                            const std::string& root = "");

}  // namespace tutti::launch
