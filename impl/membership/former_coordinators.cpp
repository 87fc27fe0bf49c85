#include "former_coordinators.hpp"

#include <utility>

namespace tutti::membership {

void FormerCoordinators::ask(int rank, const Status& how, bool is_loss) {
    asked_.emplace(rank, Asked{how, is_loss});
    ask_next();
}

bool FormerCoordinators::hold_back(const Proposal& proposal) {
    if (asked_.empty()) return false;
    held_back_.push_back(proposal);
    return true;
}

void FormerCoordinators::clear() {
    asked_.clear();
    held_back_.clear();
}

void FormerCoordinators::ask_next() {
    if (roll_call_.is_asking()) return;
    if (asked_.empty()) {
        for (const Proposal& proposal : std::exchange(held_back_, {})) hooks_.decide(proposal);
        return;
    }
    const int rank = asked_.begin()->first;
    auto addresses = hooks_.addresses(rank);
    const bool asks =
        !addresses.empty() && roll_call_.start({{rank, std::move(addresses)}}, hooks_.inquiry(),
                                               {.is_gone = [](int, const Status&) {},
                                                .is_ruled_out = hooks_.is_ruled_out,
                                                .is_over = [this, rank] { was_asked(rank); }});
    if (!asks) was_asked(rank);
}

void FormerCoordinators::was_asked(int rank) {
    const auto one = asked_.extract(rank);
    if (!one.empty() && one.mapped().is_loss) hooks_.was_asked(rank, one.mapped().how);
    ask_next();
}

}  // namespace tutti::membership
