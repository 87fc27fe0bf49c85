#include "group.hpp"

#include <algorithm>
#include <utility>

#include "backend/registry.hpp"
#include "base/error.hpp"
#include "entry.hpp"
#include "ranks.hpp"

namespace tutti {

namespace {

constexpr int most_ranks = 1 << 16;  // every rank keeps a connection to every other

// "to rank 3 (tag 5)".
std::string detail(const Send& call) {
    return cat(" to rank ", call.destination, " (tag ", call.tag, ")");
}
std::string detail(const Receive& call) {
    return call.source == any_source ? cat(" from any rank (tag ", call.tag, ")")
                                     : cat(" from rank ", call.source, " (tag ", call.tag, ")");
}

// Nobody waits for this rank in it.
bool is_nothing(const Collective& call) {
    const auto* coalesced = std::get_if<Coalesced>(&call);
    return coalesced != nullptr && coalesced->calls.empty();
}

}  // namespace

std::shared_ptr<Group> Group::create(const GroupOptions& options) {
    if (options.size < 1 || options.size > most_ranks) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("world_size is ", options.size, ", not from 1 to ", most_ranks));
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
      global_ranks_(all_ranks(options.size)),
      family_(std::make_shared<Family>()),
      store_(options.store),
      turns_(std::make_unique<Turns>()) {
    const std::string backend = resolve_backend(options.backend);
    const Deadline deadline = Deadline::after_ms(options.timeout_ms);
    try {
        backend_ = make_backend(backend, options.store, rank_, size_, deadline);
        compare_options(deadline);
    } catch (const Error& error) {
        Status status = error.status();
        status.message = cat("making ", label(), ": ", status.message);
        throw Error(status);
    }
    backend_name_ = static_backend_name(backend_->name());
    learn_hosts();
}

// A group made from another one compares in the agreement.
void Group::compare_options(const Deadline& deadline) {
    if (size_ == 1) return;
    std::vector<uint32_t> all;
    try {
        all = backend_->tell_all(reproducible_ ? 1 : 0, deadline);
    } catch (const Error&) {
        if (backend_->trouble(rank_).ok()) throw;
        return;  // a call of others, who were done with this, has failed: so will ours, and say why
    }
    const auto other = std::ranges::find_if(all, [&](uint32_t one) { return one != all.front(); });
    if (other == all.end()) return;
    backend_->leave();  // others may not have heard yet
    const auto rank = static_cast<int>(other - all.begin());
    throw Error(TUTTI_ERR_MISMATCH,
                cat("options.reproducible is ", *other, " on rank ", rank, " and ", all.front(),
                    " on rank 0"),
                rank);
}

void Group::learn_hosts() {
    for (int rank = 0; rank < size_; ++rank) {
        on_this_host_.push_back(rank == rank_ || backend_->same_host(rank));
    }
    all_on_this_host_ = std::ranges::find(on_this_host_, false) == on_this_host_.end();
    same_memory_ = backend_->same_memory();
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

int64_t Group::patience(int64_t timeout_ms) const {
    return timeout_ms == 0 ? timeout_ms_.load() : timeout_ms;
}

Deadline Group::deadline(int64_t timeout_ms) const {
    return Deadline::after_ms(patience(timeout_ms));
}

Deadline Group::deadline_here(int64_t timeout_ms) const {
    return Deadline::after_ms_of_waiting(patience(timeout_ms));
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

// Nobody can go on after a collective that failed. Returns what to tell the caller. What else runs
// here ends for the same reason, or, if the call had not begun, because of it.
Status Group::fail(Status status, const Collective& call, uint64_t number,
                   bool had_begun) noexcept {
    const std::string operation = describe(fingerprint(call), number);
    {
        const Lock lock(mutex_);
        if (destroyed_ || !failure_.ok()) {
            status.message = cat(operation, " on ", label(), ": ", status.message);
            return status;
        }
        failure_ = status;
        inside_.fetch_or(harmed);
    }
    Status cause = status;
    if (cause.code == TUTTI_ERR_TIMEOUT) cause.code = TUTTI_ERR_ABORTED;  // it is not theirs
    const bool speaks_for_all = status.code == TUTTI_ERR_PEER_LOST ||
                                status.code == TUTTI_ERR_MISMATCH ||
                                status.code == TUTTI_ERR_ABORTED;
    if (!speaks_for_all) {
        cause.message = cat("rank ", rank_, " gave up: ", operation, " ", status.message);
        if (cause.rank < 0) cause.rank = rank_;
    }
    backend_->report(cause);
    backend_->abort(had_begun ? status : cause);
    status.message = cat(operation, " on ", label(), ": ", status.message);
    return status;
}

void Group::check_and_mark(Collective& call) const {
    check(call, rank_, size_);
    if (!reproducible_ && std::holds_alternative<AllReduceAddends>(call)) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("all_reduce_addends needs a group that was made with "
                        "options.reproducible, and ",
                        label(), " was not"));
    }
    if (!reproducible_) return;
    std::visit(
        [](auto& one) {
            if constexpr (requires { one.op.make_reproducible(); }) one.op.make_reproducible();
        },
        call);  // those of a Coalesced are, each
}

void Group::run(Collective call, int64_t timeout_ms) {
    check_and_mark(call);
    const Entry entry(*this, call_name(call));
    if (gathering_.take(call, timeout_ms, rank_) || is_nothing(call)) return;
    const Deadline until = deadline_here(timeout_ms);
    Status late;
    const auto run_here = [&](uint64_t number) {
        if (!late.ok()) throw Error(late);
        try {
            backend_->run(call, number, until);
        } catch (...) {
            throw Error(fail(current_status(), call, number));
        }
    };
    turns_->run(until, run_here, [&](uint64_t number) {
        late = fail({TUTTI_ERR_TIMEOUT, -1, 0,
                     "timed out waiting for this rank's earlier collectives to end"},
                    call, number, false);
    });
}

std::shared_ptr<Work> Group::start(Collective call, int64_t timeout_ms,
                                   std::function<void()> deliver) {
    check_and_mark(call);
    const Entry entry(*this, call_name(call));
    if (gathering_.has_begun() && !std::holds_alternative<Coalesced>(call)) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    "work must be NULL while calls are gathered; the end of the coalescing gives "
                    "one for all");
    }
    const auto work = std::make_shared<Work>(nullptr, call_name(call));
    if (is_nothing(call)) {
        work->finish({});
        return work;
    }
    const uint64_t drawn =
        turns_->queue([this, call = std::move(call), until = deadline(timeout_ms),
                       deliver = std::move(deliver), work](uint64_t number) {
            try {
                backend_->run(call, number, until);
            } catch (...) {
                work->finish(fail(current_status(), call, number));
                return;
            }
            try {
                if (deliver) deliver();
                work->finish({});
            } catch (...) {
                work->finish(current_status());
            }
        });
    work->set_number(drawn);
    return work;
}

void Group::begin_coalescing() {
    const Entry entry(*this, "coalescing_begin");
    gathering_.begin();
}

Coalesced Group::end_coalescing() {
    const Entry entry(*this, "coalescing_end");
    return gathering_.end();
}

template <typename Call>
std::shared_ptr<Work> Group::work_of(const Call& call) const {
    const auto what = [name = call_name(call), detail = detail(call), label = label()] {
        return cat(name, detail, " on ", label);
    };
    return std::make_shared<Work>(what, call_name(call));
}

template <typename Call, typename Act>
void Group::in_words(const Call& call, Act&& act) const {
    try {
        act();
    } catch (...) {
        Status status = current_status();
        status.message = cat(call_name(call), detail(call), " on ", label(), ": ", status.message);
        throw Error(status);
    }
}

template <typename Call>
void Group::start_message(const Call& call, const Deadline& until,
                          const std::shared_ptr<Work>& work) {
    in_words(call, [&] { backend_->start(call, until, work); });
}

template <typename Call, typename Run>
void Group::run_message(const Call& call, Run&& run, int64_t timeout_ms) {
    check(call, size_);
    const Entry entry(*this, call_name(call));
    in_words(call, [&] { run(deadline_here(timeout_ms)); });
}

template <typename Call>
std::shared_ptr<Work> Group::start_message(const Call& call, const Deadline& until) {
    auto work = work_of(call);
    start_message(call, until, work);
    return work;
}

std::shared_ptr<Work> Group::start(const Send& call, int64_t timeout_ms) {
    check(call, size_);
    const Entry entry(*this, call_name(call));
    return start_message(call, deadline(timeout_ms));
}

std::shared_ptr<Work> Group::start(const Receive& call, int64_t timeout_ms) {
    check(call, size_);
    const Entry entry(*this, call_name(call));
    return start_message(call, deadline(timeout_ms));
}

std::shared_ptr<Work> Group::start(const Receive& call, int64_t timeout_ms,
                                   std::function<void()> deliver) {
    check(call, size_);
    // As long as the delivery may come: destroy() waits for it.
    auto entry = std::make_shared<Entry>(*this, call_name(call));
    const auto work = std::make_shared<Work>(nullptr, call_name(call));
    const auto moving = work_of(call);
    moving->then(
        [work, entry, deliver = std::move(deliver), incoming = call.incoming](const Status& moved) {
            if (!moved.ok()) return work->finish(moved);
            try {
                deliver();
                work->finish({}, incoming->source);
            } catch (...) {
                work->finish(current_status());
            }
        },
        Callbacks::of_library());
    start_message(call, deadline(timeout_ms), moving);
    return work;
}

std::vector<std::shared_ptr<Work>> Group::start(std::span<const Message> batch,
                                                int64_t timeout_ms) {
    for (const Message& message : batch) check(message, size_);
    const Entry entry(*this, "batch_isend_irecv");
    const Deadline until = deadline(timeout_ms);
    std::vector<std::shared_ptr<Work>> works(batch.size());
    for (size_t index = 0; index < batch.size(); ++index) {
        try {
            works[index] = std::visit([&](const auto& call) { return start_message(call, until); },
                                      batch[index]);
        } catch (...) {  // others run already
            works[index] = std::make_shared<Work>(nullptr, call_name(batch[index]));
            works[index]->finish(current_status());
        }
    }
    return works;
}

void Group::run(const Send& call, int64_t timeout_ms) {
    if (call.destination == rank_) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("group_dst is ", call.destination,
                        ", this rank itself, which only a send with a work can reach"));
    }
    run_message(
        call, [&](const Deadline& until) { backend_->send(call, until); }, timeout_ms);
}

int Group::run(const Receive& call, int64_t timeout_ms) {
    if (call.source == rank_) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("group_src is ", call.source,
                        ", this rank itself, from which only a receive with a work can receive"));
    }
    int source = -1;
    run_message(
        call, [&](const Deadline& until) { source = backend_->receive(call, until); }, timeout_ms);
    return source;
}

// What was made from this group goes first: it may move its data through the same connections.
void Group::end_family() noexcept {
    for (const auto& group : family_->end()) {
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
    while (!ended_) idle_.wait(lock);
}

void Group::destroy() {
    {
        const Lock lock(mutex_);
        if (destroyed_) {
            throw Error(TUTTI_ERR_INVALID_HANDLE, cat(label(), " was destroyed before"));
        }
        destroyed_ = true;
        inside_.fetch_or(harmed);
    }
    if (!backend_) return;  // it was never made
    if (!first_) end_family();
    family_->remove(*this);
    backend_->leave();
    backend_->abort({TUTTI_ERR_ABORTED, rank_, 0, "the group was destroyed"});
    {
        Lock lock(mutex_);
        while (inside_ >= one_inside) idle_.wait(lock);
    }
    turns_.reset();
    backend_.reset();
    const Lock lock(mutex_);
    ended_ = true;
    idle_.notify_all();
}

}  // namespace tutti
