// Making a group, its state, its end. Any thread.
#include "group.hpp"

#include <algorithm>

#include "backends/registry.hpp"
#include "base/debug_level.hpp"
#include "base/error.hpp"
#include "base/resource_limits.hpp"
#include "device_ranks.hpp"
#include "foreign_peers.hpp"
#include "in_flight.hpp"
#include "membership/bootstrap.hpp"
#include "membership/processes.hpp"
#include "membership/threads.hpp"
#include "progress/processors.hpp"
#include "ranks.hpp"

namespace tutti {

namespace {

// The facts that must be the same on all ranks.
std::string same_on_all(const GroupOptions& options, const BackendMap& map) {
    return cat("options.reproducible is ", options.reproducible ? 1 : 0, "\nbackend is ",
               map.text(), map.lacks());
}

BackendMap map_of(const GroupOptions& options) {
    if (options.map) return *options.map;
    // NCCL has no sums that can be reproduced.
    return resolve_backends(options.backend, options.reproducible ? TUTTI_CPU : options.bound.type);
}

// All ranks: processes, or threads of one process if the backend joins those.
std::shared_ptr<World> bootstrap(const GroupOptions& options, const BackendMap& map,
                                 bool has_foreign_peers, const Deadline& deadline) {
    if (options.size == 1) return world_of_one();
    if (has_foreign_peers) return unwatched_world(options.rank, options.size);
    const std::string same = same_on_all(options, map);
    const bool has_threads = joins_threads(map.entries.front().name);
    auto* const how = has_threads ? bootstrap_threads : bootstrap_processes;
    return how(options.store, options.rank, options.size, same, deadline);
}

}  // namespace

std::shared_ptr<Group> Group::create(const GroupOptions& options) {
    if (options.size < 1 || options.size > max_ranks) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("world_size is ", options.size, ", not from 1 to ", max_ranks));
    }
    if (options.rank < 0 || options.rank >= options.size) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("rank is ", options.rank, ", and world_size is ", options.size));
    }
    return std::shared_ptr<Group>(new Group(options));
}

Group::Group(const GroupOptions& options)
    : rank_(options.rank),
      size_(options.size),
      name_(options.name),
      timeout_ms_(options.timeout_ms),
      reproducible_(options.reproducible),
      bound_(options.bound),
      backend_map_(map_of(options)),
      has_foreign_peers_(has_foreign_peers(backend_map_.entries.front().name)),
      compares_first_(debug_level() == DebugLevel::Detail && !has_foreign_peers_),
      global_ranks_(all_ranks(options.size)),
      tree_(std::make_shared<GroupTree>()),
      ticket_queue_(std::make_shared<TicketQueue>()),
      door_(std::make_shared<Door>(*this)) {
    if (has_foreign_peers_) check_foreign_peers(options);
    const Deadline deadline = Deadline::after_ms(options.timeout_ms);
    try {
        membership_ = std::make_unique<Membership>(
            bootstrap(options, backend_map_, has_foreign_peers_, deadline), 0,
            all_ranks(options.size));
        membership_->set_compares_first(compares_first_);
        store_ = has_foreign_peers_ ? store_of_pytorch(0, options.store) : options.store;
        backends_.open(backend_map_, {*membership_, deadline, store_, bound_, false, name_});
        adopt_backends();
    } catch (...) {
        Status status = current_status();
        blame_own_exhaustion(status, rank_);
        give_up(*options.store, status);
        status.message = cat("making ", label(), ": ", status.message);
        throw Error(status);
    }
}

void Group::adopt_backends() {
    backends_.stage(TUTTI_CUDA, rank_, size_);
    backend_ = backends_.cpu().backend;
    backend_name_ =
        backend_map_.has_cpu ? static_backend_name(backend_->name()) : backend_map_.name();
    learn_hosts();
    membership_->subscribe(listener_);
}

// This rank's part in the making has failed: the others shall not wait for it.
void Group::give_up(Store& store, const Status& status) noexcept {
    if (membership_) return membership_->report(gave_up(rank_, status));
    if (status.code != TUTTI_ERR_OUT_OF_MEMORY) return;
    if (status.rank != rank_) return membership::have_heard(store, rank_);
    // It may have met none of them.
    membership::tell_failure(store, rank_, status);
    membership::stay_to_tell(store, rank_, size_);
}

void Group::learn_hosts() {
    for (int rank = 0; rank < size_; ++rank) {
        on_this_host_.push_back(rank == rank_ || membership_->same_host(rank));
    }
    all_on_this_host_ = std::ranges::find(on_this_host_, false) == on_this_host_.end();
    same_memory_ = backend_->same_memory();
    const auto ranks_here = static_cast<size_t>(std::ranges::count(on_this_host_, true));
    has_spare_processor_ = has_spare_processor(processors_of_this_process(), ranks_here);
}

bool Group::same_host(int rank) const {
    return rank >= 0 && rank < size_ && on_this_host_[static_cast<size_t>(rank)];
}

Group::~Group() {
    try {
        destroy();
    } catch (const Error&) {  // destroyed before
    }
}

std::string Group::label() const {
    return cat("group \"", name_, "\" (rank ", rank_, " of ", size_, ")");
}

Device Group::bound_device_for(const Device& wanted) const {
    if (wanted.type == TUTTI_CPU) return bound_;
    check_bound(wanted, "options.device_type and device_index name");
    return wanted;
}

void Group::check_bound_to_one(const Device& device, const char* what) const {
    if (device.type == TUTTI_CPU || bound_.type == TUTTI_CPU) return;
    refuse(what, " ", describe(device), ", and ", label(), " is bound to ", describe(bound_));
}

std::vector<int> Group::failed_ranks() {
    const InFlight entry(*this, "get_failed_ranks", InFlight::Of::Any);
    std::vector<int> ranks;
    const auto losses = membership_->shared_world()->losses();
    for (int rank = 0; rank < size_; ++rank) {
        if (losses.contains(membership_->world_rank(rank))) ranks.push_back(rank);
    }
    return ranks;
}

int64_t Group::effective_timeout(int64_t timeout_ms) const {
    return timeout_ms == 0 ? timeout_ms_.load() : timeout_ms;
}

Deadline Group::deadline(int64_t timeout_ms) const {
    return Deadline::after_ms(effective_timeout(timeout_ms));
}

Group::Span Group::span_of(int64_t timeout_ms) const {
    const auto now = Work::Clock::now();
    return {now, Deadline::after_ms(effective_timeout(timeout_ms), now)};
}

Deadline Group::deadline_here(int64_t timeout_ms) const {
    return Deadline::after_ms_of_waiting(effective_timeout(timeout_ms));
}

void Group::check_not_destroyed() const {
    if (destroyed_) throw Error(TUTTI_ERR_INVALID_HANDLE, cat(label(), " was destroyed"));
}

void Group::check_not_failed(const char* operation) const {
    if (failure_.ok()) return;
    Status status = failure_;
    status.message = cat(operation, " on ", label(), ", which has failed before: ", status.message);
    throw Error(status);
}

// Groups made from this one end first: they may move their data through the same connections.
void Group::end_tree() noexcept {
    for (const auto& group : tree_->end()) {
        try {
            group->destroy();
        } catch (const Error&) {  // another thread is at it
            group->wait_for_end();
        }
    }
}

// Another thread destroys this group.
void Group::wait_for_end() noexcept {
    Lock lock(mutex_);
    while (!ended_) has_ended_.wait(lock);
}

void Group::refuse_wait(const char* operation, const char* function) const {
    refuse(operation, " on ", label(), " is called in the ", function,
           " of a call of this group, and each would wait for the other");
}

void Group::destroy(int64_t leave_ms) {
    check_may_be_destroyed();
    std::shared_ptr<DeviceRanks> device_ranks;
    bool has_failed = false;
    {
        const Lock lock(mutex_);
        if (destroyed_) {
            throw Error(TUTTI_ERR_INVALID_HANDLE, cat(label(), " was destroyed before"));
        }
        destroyed_ = true;
        has_failed = !failure_.ok();
        gate_.shut();
        device_ranks = std::move(device_ranks_);
        device_ranks_opened_.notify_all();
    }
    door_->close();
    if (!backend_) return;  // it was never made
    if (device_ranks) device_ranks->destroy(leave_ms);
    membership_->shared_world()->set_leave_ms(leave_ms);
    if (!first_) end_tree();
    tree_->remove(*this);
    if (!has_failed) backends_.leave();  // else the others do not leave, and would be waited for
    membership_->leave();
    backends_.abort({TUTTI_ERR_ABORTED, rank_, 0, "the group was destroyed"});
    ticket_queue_->hurry();
    gate_.wait_until_unused();
    ticket_queue_->close();
    membership_->unsubscribe();
    backend_ = nullptr;
    backends_.close();
    membership_.reset();
    const Lock lock(mutex_);
    ended_ = true;
    has_ended_.notify_all();
}

}  // namespace tutti
