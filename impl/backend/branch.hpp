// A group made of some of another one's ranks that shares its connections, as data.
#pragma once

#include <string>
#include <vector>

#include "base/deadline.hpp"

namespace tutti {

struct Branch {
    std::string path;                // what it was reserved by
    std::vector<int> ranks;          // of its members, in the group it branches off, by rank
    int rank = 0;                    // of this process among them
    std::vector<std::string> cards;  // what each member's reserve() said
    Deadline deadline = Deadline::never();
};

}  // namespace tutti
