#include "core.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/resource_limits.hpp"
#include "membership/world.hpp"
#include "ranks.hpp"

namespace tutti {

namespace {

GroupIdentity with_operator(GroupIdentity identity, const Operator& as) {
    identity.as = as;
    return identity;
}

}  // namespace

void GroupParts::open_backends(const BackendPlace& place, MadeBackends made) {
    membership->set_compares_first(identity.compares_first);
    backends.open(backend_map, place, std::move(made));
    backends.stage(TUTTI_CUDA, identity.rank, identity.size);
}

GroupCore::GroupCore(GroupParts parts, const Operator& as)
    : identity(with_operator(std::move(parts.identity), as)),
      timeout_ms(parts.timeout_ms),
      backend_map(std::move(parts.backend_map)),
      store(std::move(parts.store)),
      membership(std::move(parts.membership)),
      backends(std::move(parts.backends)),
      ticket_queue(std::move(parts.ticket_queue)),
      record(identity.name, backend_map.name(), identity.rank, identity.size,
             identity.global_ranks) {}

// A timeout is that of one call.
Status GroupCore::cause_for_others(const Status& status, const std::string& operation) const {
    const bool speaks_for_all = status.code == TUTTI_ERR_PEER_LOST ||
                                status.code == TUTTI_ERR_MISMATCH ||
                                status.code == TUTTI_ERR_ABORTED;
    if (speaks_for_all) return status;
    Status of_operation = status;
    of_operation.message = cat(operation, " ", status.message);
    return gave_up(identity.rank, of_operation);
}

std::string NumberedCall::text() const {
    std::string text = describe(call, sequence);
    if (!tag.empty()) text += cat(" \"", tag, "\"");
    return text;
}

Status GroupCore::fail(Status status, const NumberedCall& call, bool had_begun) noexcept {
    const std::string operation = call.text();
    Status cause = membership->reason_of(status);
    const bool is_of_others = cause.code != status.code || cause.message != status.message;
    if (is_of_others) status = cause;
    blame_own_exhaustion(status, identity.rank);
    if (!is_of_others) cause = cause_for_others(status, operation);
    if (life.fail(status, cause)) {
        if (cause.code == TUTTI_ERR_MISMATCH) {
            membership->revoke(cause);
        } else {
            membership->report(cause);
        }
        end_calls(had_begun ? status : cause);
    }
    return worded(operation, std::move(status));
}

Status GroupCore::worded(const std::string& call, Status status) const {
    status.message = cat(call, " on ", identity.label(), ": ", status.message, others_lost(status));
    return status;
}

std::string GroupCore::others_lost(const Status& status) const {
    if (status.code != TUTTI_ERR_PEER_LOST) return {};
    std::vector<int> ranks = lost_ranks();
    if (std::erase(ranks, status.rank) == 0 || ranks.empty()) return {};
    const bool several = ranks.size() > 1;
    return cat("; rank", several ? "s " : " ", ranks_text(ranks), several ? " are" : " is",
               " lost, too");
}

void GroupCore::abandon(const Status& cause) noexcept {
    unless_destroyed(life, [&] {
        if (!life.fail(cause, cause)) return;
        membership->report(cause);
        end_calls(cause);
    });
}

void GroupCore::revoke(const Status& cause) noexcept {
    if (!life.fail(cause, cause)) return;
    membership->revoke(cause);
    end_calls(cause);
}

void GroupCore::end_calls(const Status& cause) noexcept {
    backends.abort(cause);
    ticket_queue->hurry();  // those that nobody waits for fail now
    end_failure_work(cause);
}

void GroupCore::end_failure_work(const Status& cause) noexcept {
    Status status = cause;
    status.message += others_lost(cause);
    failure_work_.finish(status);
}

std::shared_ptr<Work> GroupCore::failure_work() {
    const InFlight entry(life, "group_failure", InFlight::Of::Any);
    auto work = failure_work_.get();
    if (const Status known = failure(); !known.ok()) end_failure_work(known);
    return work;
}

Status GroupCore::failure() {
    return failure_by([this] { return membership->trouble(identity.rank); });
}

Status GroupCore::end_of_calls() {
    return failure_by([this] { return membership->end_of_calls(); });
}

template <typename Ask>
Status GroupCore::failure_by(Ask&& ask) {
    if (const auto known = life.end()) return *known;
    Status trouble;
    unless_destroyed(life, [&] { trouble = ask(); });
    return life.end().value_or(trouble);  // to leave is no failure
}

std::vector<int> GroupCore::failed_ranks() {
    const InFlight entry(life, "get_failed_ranks", InFlight::Of::Any);
    return lost_ranks();
}

std::vector<int> GroupCore::lost_ranks() const {
    std::vector<int> ranks;
    const auto losses = membership->shared_world()->losses();
    for (int rank = 0; rank < identity.size; ++rank) {
        if (losses.contains(membership->world_rank(rank))) ranks.push_back(rank);
    }
    return ranks;
}

void GroupCore::end(bool says_goodbye) noexcept {
    if (says_goodbye) backends.leave();
    membership->leave();
    end_calls({TUTTI_ERR_ABORTED, identity.rank, 0, "the group was destroyed"});
    life.wait_until_unused();
    ticket_queue->close();
    membership->unsubscribe();
    backends.close();
    membership.reset();
    record.end();
    life.end_destroy();
}

}  // namespace tutti
