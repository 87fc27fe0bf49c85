// One step that several ranks of a group take together, over a store: all come, their arguments are
// compared, and all learn the same outcome. Leaves nothing at the store once all have learnt it.
// The caller's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/status.hpp"
#include "store/store.hpp"

namespace tutti {

struct Agreement {
    std::shared_ptr<Store> store;   // whose keys are this step's alone
    int rank = 0;                   // of this process in the group
    std::vector<int> participants;  // ranks of the group, ascending
    std::string function;           // "new_group"
    // What must be the same on all ranks, as phrases: "ranks 0-3", "backend gloo".
    std::vector<std::string> arguments;
    std::string card;  // what the others shall know of this rank
    // Why that rank will not come any more; asked while this one waits.
    std::function<Status(int rank)> trouble;
};

// Returns the cards of all participants, in their order. Everyone who comes throws if one does:
// MISMATCH shows both sides, TIMEOUT names the ranks that have not come, trouble is passed on.
std::vector<std::string> agree(const Agreement& step, const Deadline& deadline);

// This rank cannot come, and tells the others, who throw MISMATCH. Does not wait for them.
void decline(const Agreement& step, const Status& why, const Deadline& deadline);

}  // namespace tutti
