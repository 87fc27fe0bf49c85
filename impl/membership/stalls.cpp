#include "stalls.hpp"

#include "base/text.hpp"

namespace tutti::membership {

namespace {

constexpr size_t max_claims = 256;

std::string text_of(const Stall& stall, bool says_whether_it_compares) {
    const bool adds = says_whether_it_compares && stall.compares_first;
    return cat(stall.text, adds ? " under TORCH_DISTRIBUTED_DEBUG=DETAIL" : "");
}

}  // namespace

std::optional<Status> Stalls::add(int rank, const Stall& stall) {
    const auto [claim, is_new] = first_.try_emplace(stall.sequence, Claim{rank, stall});
    if (is_new) {
        if (first_.size() > max_claims) first_.erase(first_.begin());
        return std::nullopt;
    }
    const auto& [other, theirs] = claim->second;
    const bool differs = theirs.compares_first != stall.compares_first;
    if (theirs.call == stall.call && !differs) return std::nullopt;
    return Status{TUTTI_ERR_MISMATCH, rank, 0,
                  cat("rank ", rank, " called ", text_of(stall, differs), " while rank ", other,
                      " called ", text_of(theirs, differs))};
}

}  // namespace tutti::membership
