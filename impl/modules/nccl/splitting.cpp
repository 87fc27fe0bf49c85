// The split of a communicator. NCCL asks that all ranks split while no call of theirs is under way.
// So ranks hold back calls, and ask each other, until all of them are idle at the same time.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "communicator.hpp"
#include "gather.hpp"
#include "pauses.hpp"
#include "settings.hpp"

namespace tutti::nccl {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds time_to_drain{2};  // while calls are held back

}  // namespace

struct Communicator::Readiness {
    enum State : uint64_t { Never, Busy, Idle } state;
    uint64_t sequence;  // of the last collective
    bool operator==(const Readiness&) const = default;
};

// Nothing that came is still to begin, or on a stream.
bool Communicator::is_drained(const tutti_backend_place& place) const {
    if (!under_way_.empty() || !waiting_.empty() || !gathered_.empty() || is_sharing_) return false;
    for (const auto until = Clock::now() + time_to_drain;;) {
        tutti_error error = error_of({});
        int32_t ended = 0;
        const tutti_status status = host_.all_ended(&place, &ended, &error);
        if (status != TUTTI_OK) throw Failure{status, 0, error.message};
        if (ended == 1) return true;
        if (Clock::now() > until) return false;
        std::this_thread::yield();
    }
}

// An idle one begins no call until it is no longer held.
Communicator::Readiness Communicator::hold(const tutti_backend_place& place) {
    test();
    const Lock lock(mutex_);
    check_not_ended();
    if (!is_bound_ || stage_ == Stage::Unused) return {Readiness::Never, 0};
    is_held_ = stage_ == Stage::Ready && is_drained(place);
    return {is_held_ ? Readiness::Idle : Readiness::Busy, last_sequence_};
}

bool Communicator::hold_on_all_ranks(const tutti_backend_place& place) {
    for (Pauses pauses;;) {
        const auto all = all_gather(place, size_, hold(place));
        const auto is_never = [](const Readiness& one) { return one.state == Readiness::Never; };
        if (std::ranges::any_of(all, is_never)) return false;
        const bool are_alike = std::ranges::count(all, all.front()) == size_;
        if (are_alike && all.front().state == Readiness::Idle) return true;
        {
            const Lock lock(mutex_);
            is_held_ = false;
        }
        test();  // what was held
        std::this_thread::sleep_for(pauses.next());
    }
}

void Communicator::begin_split(const tutti_backend_place& place, int color) {
    const Lock lock(mutex_);
    if (stage_ != Stage::Ready) throw why_;
    split_ = begin(
        [&nccl = nccl_, comm = comm_, color = color < 0 ? no_color : color,
         key = std::max(place.rank, 0)](Comm* made, Config* config) {
            return nccl.comm_split(comm, color, key, made, config);
        },
        named(settings_, place).config);
}

// Until NCCL is done with it, of which the communicator that is split tells.
void Communicator::await_split(const tutti_backend_place& place, int color) {
    const auto begun = Clock::now();
    for (;; std::this_thread::sleep_for(rest)) {
        const Lock lock(mutex_);
        if (stage_ != Stage::Ready) throw why_;
        if (split_->has_returned()) {
            nccl_.check(split_->result, "ncclCommSplit", comm_);
            const Comm made = std::atomic_ref<Comm>(split_->comm).load();
            if (is_settled() && (color < 0 || made != nullptr)) return;
        }
        const bool has_limit = place.timeout_ms >= 0;
        if (has_limit && Clock::now() - begun > std::chrono::milliseconds(place.timeout_ms)) {
            throw Failure{TUTTI_ERR_TIMEOUT, 0, "ncclCommSplit has not ended in time"};
        }
    }
}

void Communicator::adopt(std::shared_ptr<Start> start, int device) {
    const Lock lock(mutex_);
    stage_ = Stage::Starting;
    start_ = std::move(start);
    device_ = device;
}

bool Communicator::split(const tutti_backend_place& place, int color,
                         std::shared_ptr<Communicator>& made) {
    const struct Release {
        Communicator& of;
        ~Release() {
            {
                const Lock lock(of.mutex_);
                of.is_held_ = false;
            }
            of.test();  // what came meanwhile
        }
    } release{*this};
    if (!hold_on_all_ranks(place)) return false;
    try {
        begin_split(place, color);
        await_split(place, color);
    } catch (const Failure& failure) {
        end_now(failure);  // NCCL may be in the midst of it
        throw;
    }
    if (color < 0) return true;
    made = std::make_shared<Communicator>(nccl_, place, UniqueId{}, named(settings_, place));
    made->adopt(split_, device_);
    return true;
}

}  // namespace tutti::nccl
