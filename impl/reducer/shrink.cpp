// A reducer goes on in another group. The caller's thread, while no other calls the reducer; what
// any thread may ask meanwhile changes with the lock.
#include <utility>

#include "base/error.hpp"
#include "reducer.hpp"
#include "verification.hpp"

namespace tutti {

void Reducer::shrink(Group& parent) {
    check_not_in_hook("reducer_shrink");
    // Ranks that make a reducer there, beside this one, have no values to receive.
    ReducerOptions options = model_.options;
    options.initial_broadcast = false;
    const ReducerModel model{nullptr, model_.parameters, model_.order, options};
    try {
        check_options(model.parameters, options, parent);
    } catch (const Error& error) {
        decline_reducer_group(parent, error.status());
        throw;
    }
    if (Status failure = parent.failure(); !failure.ok()) {
        failure.message = cat("reducer_shrink on ", parent.label(), ": ", failure.message);
        throw Error(std::move(failure));
    }
    end_passes();
    or_fail([&] { start_over(make_reducer_group(parent, model)); });
}

void Reducer::end_passes() {
    const int rank = model_.group->rank();
    server_.fail({TUTTI_ERR_ABORTED, rank, 0, cat("rank ", rank, " goes on in another group")});
    Lock lock(progress_.mutex);
    progress_.await_rest(lock);
}

// All ranks of the new group have ended their passes, so nobody reads the gradients. The reducer
// has failed until all is made anew.
void Reducer::start_over(std::shared_ptr<Group> group) {
    try {
        model_.group->destroy();
    } catch (const Error&) {  // with the group that it was made from
    }
    buckets_.memory().make_next(*group);
    {
        const Lock lock(progress_.mutex);
        group.swap(model_.group);
        buckets_.start_over();
        pass_.start_over();
        statistics_.start_over();
    }
    Reductions::Way way{reductions_.make(), nullptr};
    way.made = way.make();
    const Lock lock(progress_.mutex);
    way = reductions_.use(std::move(way));
    progress_.start_over();
    statistics_.log_start();
}

}  // namespace tutti
