#include "stalls.hpp"

#include "base/text.hpp"

namespace tutti::membership {

std::optional<Status> Stalls::add(int rank, const Stall& stall) {
    stalls_[rank] = stall;
    for (const auto& [other, theirs] : stalls_) {
        if (theirs.sequence != stall.sequence || theirs.call == stall.call) continue;
        return Status{TUTTI_ERR_MISMATCH, rank, 0,
                      cat("rank ", rank, " called ", stall.call, " while rank ", other, " called ",
                          theirs.call)};
    }
    return std::nullopt;
}

}  // namespace tutti::membership
