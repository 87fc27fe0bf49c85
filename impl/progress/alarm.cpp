#include "alarm.hpp"

#include <map>
#include <thread>
#include <utility>

#include "base/mutex.hpp"
#include "base/thread.hpp"

namespace tutti {

struct Alarm::State {
    using Key = std::pair<Deadline::Clock::time_point, Id>;

    Mutex mutex;
    Condition changed;
    Id last TUTTI_GUARDED_BY(mutex) = 0;
    std::map<Key, std::function<void()>> alarms TUTTI_GUARDED_BY(mutex);
    std::map<Id, Deadline::Clock::time_point> times TUTTI_GUARDED_BY(mutex);
    // When the thread wakes by itself; only for an earlier alarm it must be woken.
    Deadline::Clock::time_point wakes TUTTI_GUARDED_BY(mutex) = Deadline::Clock::time_point::max();
    bool stopping TUTTI_GUARDED_BY(mutex) = false;
    std::thread thread TUTTI_GUARDED_BY(mutex);
};

std::shared_ptr<Alarm> Alarm::shared() {
    static Mutex mutex;
    static std::weak_ptr<Alarm> current;
    const Lock lock(mutex);
    auto alarm = current.lock();
    if (!alarm) {
        alarm.reset(new Alarm);
        current = alarm;
    }
    return alarm;
}

Alarm::Alarm() : state_(std::make_shared<State>()) {}

Alarm::~Alarm() {
    std::thread thread;
    {
        const Lock lock(state_->mutex);
        state_->stopping = true;
        state_->changed.notify_one();
        thread = std::move(state_->thread);
    }
    if (!thread.joinable()) return;
    // The last user may let go from within an alarm.
    thread.get_id() == std::this_thread::get_id() ? thread.detach() : thread.join();
}

Alarm::Id Alarm::set(const Deadline& deadline, std::function<void()> rings) {
    if (deadline.is_never()) return 0;
    State& state = *state_;
    const Lock lock(state.mutex);
    if (!state.thread.joinable()) {
        state.thread = start_thread("tutti-alarm", [shared = state_] { watch(shared); });
    }
    const Id id = ++state.last;
    state.alarms.emplace(State::Key{deadline.when(), id}, std::move(rings));
    state.times.emplace(id, deadline.when());
    if (deadline.when() < state.wakes) {
        state.wakes = deadline.when();
        state.changed.notify_one();
    }
    return id;
}

void Alarm::clear(Id id) {
    std::function<void()> dropped;  // destroyed without the lock
    State& state = *state_;
    const Lock lock(state.mutex);
    const auto found = state.times.find(id);
    if (found == state.times.end()) return;
    const auto place = state.alarms.find({found->second, id});
    dropped = std::move(place->second);
    state.alarms.erase(place);
    state.times.erase(found);
}

void Alarm::watch(const std::shared_ptr<State>& shared) {
    State& state = *shared;
    Lock lock(state.mutex);
    while (!state.stopping) {
        if (state.alarms.empty()) {
            state.wakes = Deadline::Clock::time_point::max();
            state.changed.wait(lock);
            continue;
        }
        const auto first = state.alarms.begin();
        if (const auto when = first->first.first; Deadline::Clock::now() < when) {
            state.wakes = when;
            state.changed.wait(lock, Deadline::at(when));
            continue;
        }
        std::function<void()> rings = std::move(first->second);
        state.times.erase(first->first.second);
        state.alarms.erase(first);
        lock.unlock();
        rings();
        rings = nullptr;  // lets go of what it holds without the lock
        lock.lock();
    }
}

}  // namespace tutti
