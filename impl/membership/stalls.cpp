#include "stalls.hpp"

#include "base/text.hpp"

namespace tutti::membership {

namespace {

std::string text_of(const Stall& stall, bool says_whether_it_compares) {
    const bool adds = says_whether_it_compares && stall.compares_first;
    return cat(stall.text, adds ? " under TORCH_DISTRIBUTED_DEBUG=DETAIL" : "");
}

}  // namespace

std::optional<Status> Stalls::add(int rank, const Stall& stall) {
    stalls_[rank] = stall;
    for (const auto& [other, theirs] : stalls_) {
        const bool differs = theirs.compares_first != stall.compares_first;
        if (theirs.sequence != stall.sequence || (theirs.call == stall.call && !differs)) continue;
        return Status{TUTTI_ERR_MISMATCH, rank, 0,
                      cat("rank ", rank, " called ", text_of(stall, differs), " while rank ", other,
                          " called ", text_of(theirs, differs))};
    }
    return std::nullopt;
}

}  // namespace tutti::membership
