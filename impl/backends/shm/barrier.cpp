// Every rank shows that it is there. Where ranks share processors, rank 0 sees them all come and
// lets them go: it is the first to go on then, and what it broadcasts is there when others look.
#include "collectives.hpp"

namespace tutti::shm {

void barrier(Team& team) {
    const uint64_t step = team.take(1);
    const bool lets_go = team.is_crowded() && team.rank() == 0;
    if (lets_go) team.await_all(step);
    team.stage(step, 0);
    team.post(step);
    if (!team.is_crowded()) {
        team.await_all(step);
    } else if (!lets_go) {
        team.await(0, step);
    }
    team.finish(step, 0);
}

}  // namespace tutti::shm
