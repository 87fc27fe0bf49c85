#include "splitting.hpp"

#include <algorithm>
#include <thread>

#include "gather.hpp"
#include "pauses.hpp"
#include "settings.hpp"

namespace tutti::nccl {

namespace {

using Readiness = Communicator::Readiness;

bool hold_on_all_ranks(Communicator& parent, const tutti_backend_place& place) {
    for (Pauses pauses;;) {
        const auto all = all_gather(place, parent.size(), parent.hold_calls(place));
        const auto is_never = [](const Readiness& one) { return one.state == Readiness::Never; };
        if (std::ranges::any_of(all, is_never)) return false;
        const bool are_alike = std::ranges::count(all, all.front()) == parent.size();
        if (are_alike && all.front().state == Readiness::Idle) return true;
        parent.release_calls();
        std::this_thread::sleep_for(pauses.next());
    }
}

struct Release {
    Communicator& of;
    ~Release() { of.release_calls(); }
};

}  // namespace

bool split(Communicator& parent, const tutti_backend_place& place, int color,
           std::shared_ptr<Communicator>& made) {
    const Release release{parent};
    if (!hold_on_all_ranks(parent, place)) return false;
    const Settings how = named(parent.settings(), place);
    std::shared_ptr<LongCall> split;
    try {
        parent.begin_split(color < 0 ? no_color : color, std::max(place.rank, 0), how.config);
        split = parent.await_call(
            place, "ncclCommSplit", "ncclCommSplit has not ended in time",
            [color](LongCall& one) { return color < 0 || one.made() != nullptr; });
    } catch (const Failure& failure) {
        parent.abort(failure);  // NCCL may be in the midst of it
        throw;
    }
    if (color < 0) return true;
    made = std::make_shared<Communicator>(parent.nccl(), place, UniqueId{}, how);
    made->adopt(std::move(split), parent);
    return true;
}

}  // namespace tutti::nccl
