#include "team.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "base/log.hpp"
#include "base/pause.hpp"
#include "membership/stalls.hpp"

namespace tutti::shm {

namespace {

// A digest that takes in one more number; the product's upper half comes down. Not extend_layout(),
// which multiplies three times as often: every call has this in its way.
uint64_t mix(uint64_t digest, uint64_t value) {
    digest = (digest ^ value) * 0x9E3779B97F4A7C15;
    return digest ^ digest >> 32;
}

}  // namespace

Team::Team(TeamConfig config, Membership& membership)
    : config_(std::move(config)),
      membership_(membership),
      rank_(static_cast<int>(std::ranges::find(config_.members, membership.rank()) -
                             config_.members.begin())),
      size_(static_cast<int>(config_.members.size())),
      placement_(config_.may_move),
      shared_(rank_),
      parts_([this] {
          std::vector<Part*> parts;
          for (const Segment& segment : config_.segments) {
              parts.push_back(static_cast<Part*>(segment.data()));
          }
          return parts;
      }()),
      mine_(parts_[static_cast<size_t>(rank_)]),
      finished_(config_.segments.size()) {}

void Team::check_not_failed() const {
    const Status why = membership_.trouble_in(sequence_, group_rank(rank_));
    if (!why.ok()) throw Error(why);
}

// A call that waited for its turn while the one before it failed posts nothing: its steps are not
// those of the others, which would see a mismatch before they hear of the failure.
void Team::begin(const Fingerprint& call, uint64_t sequence, const Deadline& deadline) {
    sequence_ = sequence;
    check_not_failed();
    call_ = call;
    deadline_ = deadline.successor();
    history_ = mix(history_, sequence);
    history_ = mix(history_, uint64_t{call.dtype} << 32 | static_cast<uint32_t>(call.kind));
    history_ = mix(history_, uint64_t{call.op} << 32 | static_cast<uint32_t>(call.root));
    history_ = mix(history_, static_cast<uint64_t>(call.count));
    history_ = mix(history_, call.layout);
    history_ = mix(history_, call.device);
    mine_->records[sequence % max_records].write(sequence, call);
    first_step_ = next_step_;
}

Algorithm Team::algorithm(OperationKind op, size_t bytes) const {
    const Algorithm wanted = config_.algorithms[static_cast<size_t>(op)];
    const Algorithm algorithm =
        wanted == Algorithm::BySize ? algorithm_for(op, size_, bytes) : wanted;
    if (algorithm == Algorithm::Direct && (bytes == 0 || !config_.direct)) return Algorithm::Staged;
    if (algorithm == Algorithm::Everyone && bytes > chunk_bytes) return Algorithm::Staged;
    return algorithm;
}

bool Team::looks_for_shared(OperationKind op, size_t bytes) const {
    const Algorithm wanted = config_.algorithms[static_cast<size_t>(op)];
    return shared_.has_any() && bytes >= shared_from(op, size_) &&
           (wanted == Algorithm::BySize || wanted == Algorithm::Direct);
}

void Team::log_algorithm(OperationKind op, size_t bytes, const char* algorithm) const {
    log(LogLevel::Trace, "shm: ", name_of(op), " of ", bytes, " bytes goes ", algorithm);
}

void Team::withdraw() noexcept {
    for (Line& one : mine_->lines) {
        if (one.step.load(std::memory_order_relaxed) >= first_step_) {
            one.step.store(0, std::memory_order_release);
        }
    }
}

void Team::post(uint64_t step) {
    Line& mine = line(*mine_, step);
    mine.history = history_;
    mine.finished = mine_->finished.load(std::memory_order_relaxed);
    mine.step.store(step, std::memory_order_release);
    will_write(line(*mine_, step + 1));
    mine_->doorbell.ring();
}

void Team::await(int peer, uint64_t step) {
    const Line& there = line(part(peer), step);
    if (there.step.load(std::memory_order_acquire) != step) {
        wait_for(peer,
                 [&there, step] { return there.step.load(std::memory_order_acquire) == step; });
    }
    if (there.history != history_) fail_mismatch(peer);
    finished_[static_cast<size_t>(peer)] = there.finished;
}

void Team::finish(uint64_t step, size_t bytes) {
    mine_->finished.store(step + 1, std::memory_order_release);
    // Only a rank that is many steps ahead sleeps for the room of a line, and not for long.
    if (bytes > Line::most) mine_->doorbell.ring();
}

void Team::wait_for_room(uint64_t step) {
    for (int peer = 0; peer < size_; ++peer) {
        uint64_t& finished = finished_[static_cast<size_t>(peer)];
        if (peer == rank_) {
            finished = step + 1;
            continue;
        }
        if (finished > step) continue;
        const auto& there = part(peer).finished;
        if (there.load(std::memory_order_acquire) <= step) {
            wait_for(peer, [&there, step] { return there.load(std::memory_order_acquire) > step; });
        }
        finished = there.load(std::memory_order_acquire);
    }
    least_finished_ = *std::ranges::min_element(finished_);
}

template <typename IsReady>
void Team::wait_for(int peer, IsReady is_ready) {
    TUTTI_FAULT_POINT("shm.wait");
    for (int spin = 0; spin < config_.spins; ++spin) {
        if (is_ready()) return;
        pause();
    }
    if (is_crowded()) {
        mine_->processor.store(::sched_getcpu(), std::memory_order_relaxed);
        if (!crowd_.was_seen() && placement_.is_due()) look_around();
    }
    wait_slowly(
        peer, [](void* context) { return (*static_cast<IsReady*>(context))(); }, &is_ready);
}

void Team::await_trouble(int peer) {
    const auto never = [](void*) { return false; };
    for (;;) wait_slowly(peer, never, nullptr);
}

void Team::wait_slowly(int peer, bool (*is_ready)(void*), void* context) {
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    for (Pace pace(0, Pace::usual_yields, &crowd_); !pace.is_over();) {
        if (config_.messages != nullptr) config_.messages->advance();
        static_cast<void>(pace.next());
        if (is_ready(context)) return;
    }
    if (config_.messages != nullptr) config_.messages->hurry();  // this thread sleeps
    auto next_look = began + std::chrono::milliseconds(membership::stall_ms);
    bool has_reported = false;
    for (;;) {
        part(peer).doorbell.sleep(is_ready, context, Doorbell::look_after(Clock::now() - began));
        const Status ours = membership_.trouble_in(sequence_, group_rank(rank_));
        const Status theirs = membership_.trouble_in(sequence_, group_rank(peer));
        if (is_ready(context)) return;
        if (!ours.ok()) throw Error(ours);
        if (!theirs.ok()) throw Error(theirs);
        if (deadline_.expired()) {
            const int late = group_rank(peer);
            throw Error(TUTTI_ERR_TIMEOUT, cat("timed out waiting for rank ", late), late);
        }
        if (Clock::now() < next_look) continue;
        next_look += std::chrono::milliseconds(membership::stall_ms);
        compare();
        if (!std::exchange(has_reported, true)) report_stall();
    }
}

// Ranks of other hosts, which do not see the records here, may be in another call.
void Team::report_stall() const {
    for (uint64_t sequence = oldest_record(); sequence <= sequence_; ++sequence) {
        Fingerprint call;
        if (!mine_->records[sequence % max_records].read(sequence, call)) continue;
        membership_.stalled(sequence, to_bytes(call), describe(call, sequence));
    }
}

void Team::look_around() {
    std::array<int, max_ranks> processors{};
    for (size_t rank = 0; rank < parts_.size(); ++rank) {
        processors[rank] = parts_[rank]->processor.load(std::memory_order_relaxed);
    }
    (void)placement_.look(rank_, std::span(processors).first(parts_.size()));
}

void Team::compare() const {
    for (int peer = 0; peer < size_; ++peer) compare_with(peer);
}

void Team::compare_with(int peer) const {
    for (uint64_t sequence = oldest_record(); sequence <= sequence_; ++sequence) {
        Fingerprint ours;
        Fingerprint theirs;
        if (!mine_->records[sequence % max_records].read(sequence, ours)) continue;
        if (!part(peer).records[sequence % max_records].read(sequence, theirs)) continue;
        if (theirs == ours) continue;
        throw Error(mismatch(group_rank(peer), theirs, group_rank(rank_), ours, sequence));
    }
}

// If the group has failed, that came first. A peer that has left has still called other things.
void Team::fail_mismatch(int peer) const {
    check_not_failed();
    compare_with(peer);
    throw Error(TUTTI_ERR_MISMATCH,
                cat("rank ", group_rank(peer), " has called other things than rank ",
                    group_rank(rank_), " before ", describe(call_, sequence_)),
                group_rank(peer));
}

}  // namespace tutti::shm
