#include "split.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace tutti {

namespace {

constexpr char gathers = 'g';  // the kinds of steps
constexpr char ends = 'e';

}  // namespace

// Ranks meet in one step, whichever kind each of them takes.
std::vector<std::string> SplitSteps::step(char kind, const std::string& mine) {
    const std::string key = next_key();
    ++taken_;
    has_failed_ = true;
    auto all = group_.all_gather(key, kind + mine, deadline_);
    has_failed_ = false;
    for (size_t rank = 0; rank < all.size(); ++rank) {
        if (all[rank].front() != kind) {
            const char* const does = kind == ends ? "gathers on" : "has come to its end";
            throw Error(TUTTI_ERR_MISMATCH,
                        cat("rank ", rank, " ", does, ", and rank ", group_.rank(), " does not"),
                        static_cast<int>(rank));
        }
        all[rank].erase(0, 1);
    }
    return all;
}

std::vector<std::string> SplitSteps::all_gather(const std::string& mine) {
    return step(gathers, mine);
}

void SplitSteps::end(bool has_split) {
    const auto all = step(ends, has_split ? "split" : "not now");
    const auto other = std::ranges::find_if(all, [&](const auto& one) { return one != all[0]; });
    if (other == all.end()) return;
    const auto rank = static_cast<int>(other - all.begin());
    throw Error(TUTTI_ERR_BACKEND,
                cat("rank ", rank, " says \"", *other, "\", and rank 0 says \"", all[0], "\""),
                rank);
}

void SplitSteps::refuse(const Status& why) noexcept {
    if (has_failed_ || group_.size() == 1) return;
    group_.refuse({.key = next_key()}, gave_up(group_.rank(), why));
}

bool split_backend(Backend& backend, BackendSplit how, std::unique_ptr<Backend>& made) {
    if (how.place) how.place->settings = how.settings;
    try {
        const bool has_split = backend.split(how, made);
        if (made && made->capabilities() != backend.capabilities()) {
            throw Error(TUTTI_ERR_BACKEND, "it says now that it can do something else");
        }
        how.steps.end(has_split);
        return has_split;
    } catch (...) {
        Status status = current_status();
        how.steps.refuse(status);
        if (made) made->abort(status);
        made.reset();
        status.message = cat("splitting backend \"", backend.name(), "\": ", status.message);
        throw Error(std::move(status));
    }
}

}  // namespace tutti
