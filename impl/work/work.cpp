#include "work.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/function_call.hpp"
#include "base/text.hpp"

namespace tutti {

namespace {

// Within which messages end that have come already, or are about to.
constexpr std::chrono::microseconds soon{100};

}  // namespace

// Goes through works from the first one on: those that have finished stay so.
template <typename IsMeant>
class Work::Unfinished {
public:
    Unfinished(std::span<const Work* const> works, IsMeant is_meant)
        : works_(works), is_meant_(std::move(is_meant)) {}

    // Past those that are not meant, or have finished. False: there is no other.
    bool has_more() {
        while (next_ < works_.size() && is_past(works_[next_])) ++next_;
        return next_ < works_.size();
    }
    [[nodiscard]] size_t next() const { return next_; }

private:
    [[nodiscard]] bool is_past(const Work* work) const {
        return work == nullptr || work->is_completed() || !is_meant_(*work);
    }

    const std::span<const Work* const> works_;
    const IsMeant is_meant_;
    size_t next_ = 0;
};

// Behind the thread that finishes it.
Work::~Work() {
    if ((state_.load(std::memory_order_acquire) & watched) == 0) return;
    const Lock lock(mutex_);
}

// False: the word has one of those bits, or the state is as late already.
bool Work::advance_to(State next, uint32_t but_not_if) noexcept {
    uint32_t word = state_.load(std::memory_order_relaxed);
    do {
        if ((word & but_not_if) != 0 || state_of(word) >= next) return false;
    } while (!state_.compare_exchange_weak(word, (word & watched) | static_cast<uint32_t>(next),
                                           std::memory_order_seq_cst));
    return true;
}

void Work::enqueued(std::shared_ptr<const StreamEvent> end) noexcept {
    const Lock lock(mutex_);
    watch();
    if (state() != State::Running) return;
    stream_end_ = std::move(end);
    advance_to(State::Enqueued, 0);
    finished_.notify_all();
}

void Work::wait_enqueued() const {
    if (state() != State::Running) return;
    help([this] { return state() != State::Running; }, Deadline::never());
    if (auto source = polled()) {
        PollingWait polling({std::move(source)});
        wait_polling(polling, Deadline::never(), State::Enqueued);
        return;
    }
    Lock lock(mutex_);
    watch();
    while (state() == State::Running) finished_.wait(lock);
}

std::shared_ptr<const StreamEvent> Work::stream_end() const {
    const Lock lock(mutex_);
    return stream_end_;
}

void Work::finish(Status status, int source, Clock::time_point now) noexcept {
    if (ending_.exchange(true)) return;
    if (!status.ok()) {
        const std::string what = describe();
        if (!what.empty()) status.message = cat(what, ": ", status.message);
    }
    source_ = source;
    // A waiting thread may free this work as soon as it is finished; `settled` goes after that.
    const Afterwards settled = settle(status);
    ended_ = now;
    status_ = std::move(status);
    if (!advance_to(State::Finished, watched)) finish_watched();
}

void Work::finish_watched() noexcept {
    std::vector<std::shared_ptr<Waiter>> waiters;
    std::vector<std::unique_ptr<Callback>> callbacks;
    {
        const Lock lock(mutex_);
        kept_.reset();  // a program that has waited finds it given back
        waiters.swap(waiters_);
        callbacks.swap(callbacks_);
        for (const auto& callback : callbacks) callback->status = status_;
        // Under the lock, which whoever frees this work takes first.
        advance_to(State::Finished, 0);
        finished_.notify_all();
    }
    for (const auto& waiter : waiters) {
        const Lock lock(waiter->mutex);
        waiter->woken = true;
        waiter->changed.notify_one();
    }
    for (auto& callback : callbacks) {
        Callbacks& thread = *callback->thread;
        thread.add(std::move(callback));
    }
}

void Work::then(std::function<void(const Status&)> callback, Callbacks& thread) {
    auto made = std::make_unique<Callback>(std::move(callback));
    made->thread = &thread;
    thread.start_thread();
    {
        const Lock lock(mutex_);
        watch();
        if (is_completed()) {
            made->status = status_;
        } else {
            callbacks_.push_back(std::move(made));
        }
    }
    made ? thread.add(std::move(made)) : hurry();
}

void Work::keep(std::shared_ptr<const void> resource) {
    const Lock lock(mutex_);
    watch();
    if (!is_completed()) kept_ = std::move(resource);
}

std::optional<std::chrono::nanoseconds> Work::duration() const {
    if (!is_completed()) return std::nullopt;
    return ended_ - started_;
}

void Work::check_may_wait() const {
    const char* const function = FunctionCall::of(owner_);
    if (function == nullptr || is_completed()) return;
    throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                cat("the ", operation_, " is waited for in the ", function,
                    " of an operation that may end only after the function has returned"));
}

bool Work::poll() const {
    if (!is_completed()) look();
    const bool is_over = is_completed();
    asked(!is_over);
    return is_over;
}

bool Work::wait(const Deadline& deadline) const {
    if (is_completed()) return true;
    help([this] { return is_completed(); }, deadline);
    if (is_completed()) return true;
    if (auto source = polled()) {
        PollingWait polling({std::move(source)});
        return wait_polling(polling, deadline);
    }
    Lock lock(mutex_);
    watch();
    while (!is_completed()) {
        if (!finished_.wait(lock, deadline)) return is_completed();
    }
    return true;
}

bool Work::wait_polling(PollingWait& polling, const Deadline& deadline, State least) const {
    for (;;) {
        if (state() >= least) return true;
        Deadline rest = deadline;
        const bool rests = polling.poll(rest);
        Lock lock(mutex_);
        if (rests) watch();
        if (state() >= least) return true;
        if (deadline.expired()) return false;
        if (rests) finished_.wait(lock, rest.or_earlier(deadline));
    }
}

std::optional<Status> Work::status() const {
    if (!is_completed()) return std::nullopt;
    return status_;
}

void Work::forget(const std::shared_ptr<Waiter>& waiter) {
    const Lock lock(mutex_);
    std::erase(waiters_, waiter);
}

void Work::Waiter::wait(PollingWait& polling, const Deadline& deadline) {
    if (polling.empty()) {
        Lock lock(mutex);
        while (!woken && changed.wait(lock, deadline)) {
        }
        return;
    }
    for (;;) {
        Deadline rest = deadline;
        const bool rests = polling.poll(rest);
        Lock lock(mutex);
        if (woken || deadline.expired()) return;
        if (rests && changed.wait(lock, rest.or_earlier(deadline)) && woken) return;
    }
}

// Whether a thread that waits for this one moves the other, too: messages of a group together,
// and also in the wait of a collective of the group, which runs the collectives before it.
bool Work::moves(const Work& other) const {
    return owner_ == other.owner_ && (helper() == nullptr || helper() == other.helper());
}

// Other ranks may wait for the works in another order: what this thread does not move in its first
// wait begins elsewhere. A collective behind messages of its group is left to this thread, if they
// end soon.
std::optional<size_t> Work::wait_all(std::span<const Work* const> works, const Deadline& deadline) {
    Unfinished all(works, [](const Work& /*work*/) { return true; });
    if (!all.has_more()) return std::nullopt;
    const Work& first = *works[all.next()];
    const auto is_left = [&](const Work* one) {
        return one != nullptr && !first.moves(*one) && !one->is_completed();
    };
    bool leaves_own = false;
    for (const Work* const one : works) {
        if (!is_left(one)) continue;
        if (one->owner_ == first.owner_) {
            leaves_own = true;
        } else {
            one->hurry();
        }
    }
    while (all.has_more()) {
        const Work& work = *works[all.next()];
        if (const Helper* const helper = work.helper()) {
            Unfinished helped(works, [=](const Work& one) { return one.helper() == helper; });
            const auto is_over = [&helped] { return !helped.has_more(); };
            if (std::exchange(leaves_own, false)) {
                work.help(is_over, deadline.or_earlier(Deadline::at(Clock::now() + soon)));
                for (const Work* const one : works) {
                    if (helped.has_more() && is_left(one)) one->hurry();
                }
            }
            work.help(is_over, deadline);
        }
        if (!work.wait(deadline)) return all.next();
    }
    return std::nullopt;
}

std::optional<size_t> Work::wait_any(std::span<const std::shared_ptr<Work>> works,
                                     const Deadline& deadline) {
    const auto finished = [&]() -> std::optional<size_t> {
        const auto found = std::ranges::find_if(works, &Work::is_completed);
        if (found == works.end()) return std::nullopt;
        return static_cast<size_t>(found - works.begin());
    };
    std::optional<size_t> index = finished();
    if (index) return index;
    // This thread must see the end of any, so it does nothing that takes the time of one.
    const Helper* const helper = works.front()->helper();
    const bool moves_together =
        works.size() == 1 ||
        (helper != nullptr &&
         std::ranges::all_of(works, [=](const auto& work) { return work->helper() == helper; }));
    if (moves_together) {
        works.front()->help([&] { return finished().has_value(); }, deadline);
        index = finished();
        if (index) return index;
    } else {
        for (const auto& work : works) work->hurry();
    }
    std::vector<std::shared_ptr<Source>> sources;
    for (const auto& work : works) {
        if (auto source = work->polled()) sources.push_back(std::move(source));
    }
    PollingWait polling(std::move(sources));
    const auto waiter = std::make_shared<Waiter>();
    for (const auto& work : works) {
        const Lock lock(work->mutex_);
        work->watch();
        work->waiters_.push_back(waiter);
    }
    index = finished();  // what finished before it knew of the waiter
    if (!index) {
        waiter->wait(polling, deadline);
        index = finished();
    }
    for (const auto& work : works) work->forget(waiter);
    return index;
}

}  // namespace tutti
