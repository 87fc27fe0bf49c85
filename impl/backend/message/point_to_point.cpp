// A message under way holds itself and the engine until it is done. Posts, copies and Work::finish
// happen without the engine's lock; who gets what is settled under it.
#include "point_to_point.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "draining.hpp"
#include "fitting.hpp"
#include "listening.hpp"
#include "receiving.hpp"
#include "sending.hpp"
#include "using.hpp"

namespace tutti {

PointToPoint::PointToPoint(Channel& channel) : channel_(channel), alarm_(Alarm::shared()) {}
PointToPoint::~PointToPoint() = default;

void PointToPoint::start(const Send& call, const Deadline& deadline, std::shared_ptr<Work> work) {
    const auto sending = std::make_shared<Sending>(shared_from_this(), call, std::move(work));
    uint64_t number = 0;
    {
        const Lock lock(mutex_);
        if (!aborted_.ok()) throw Error(aborted_);
        number = ++sent_;
    }
    if (sending->is_local()) {
        arrive(call.tag, {call.destination, nullptr, sending});
    } else {
        sending->post(number);
    }
    sending->set_alarm(deadline);
}

void PointToPoint::start(const Receive& call, const Deadline& deadline,
                         std::shared_ptr<Work> work) {
    const auto receiving = std::make_shared<Receiving>(shared_from_this(), call, std::move(work));
    {
        const Lock lock(mutex_);
        receiving->turn = ++turns_;
    }
    join(receiving);
    receiving->set_alarm(deadline);
}

// The first message that has come for it. One to oneself is the receive's alone from here on, or
// its send has timed out.
std::optional<Arrival> PointToPoint::find_message(Lane& lane, const Receiving& receiving) {
    const int wanted = receiving.call.source;
    for (;;) {
        Queue* first = nullptr;
        const auto consider = [&](Queue& queue) {
            if (queue.arrived.empty()) return;
            if (first == nullptr || queue.arrived.begin()->first < first->arrived.begin()->first) {
                first = &queue;
            }
        };
        if (wanted == any_source) {
            for (auto& [source, queue] : lane.queues) {
                if (source != channel_.rank()) consider(queue);
            }
        } else if (const auto found = lane.queues.find(wanted); found != lane.queues.end()) {
            consider(found->second);
        }
        if (first == nullptr) return std::nullopt;
        Arrival arrival = std::move(first->arrived.begin()->second);
        first->arrived.erase(first->arrived.begin());
        if (!arrival.local || arrival.local->claim()) return arrival;
    }
}

// The first receive that takes it.
std::shared_ptr<Receiving> PointToPoint::find_receive(Lane& lane, const Arrival& arrival) {
    Queue* first = nullptr;
    const auto consider = [&](int source) {
        const auto found = lane.queues.find(source);
        if (found == lane.queues.end() || found->second.waiting.empty()) return;
        Queue& queue = found->second;
        if (first == nullptr || queue.waiting.begin()->first < first->waiting.begin()->first) {
            first = &queue;
        }
    };
    consider(arrival.source);
    if (arrival.source != channel_.rank()) consider(any_source);
    if (first == nullptr || (arrival.local && !arrival.local->claim())) return nullptr;
    auto receiving = std::move(first->waiting.begin()->second);
    first->waiting.erase(first->waiting.begin());
    return receiving;
}

// Every receive that waits counts on an announcement. listen() follows, without the lock.
void PointToPoint::ask(Lane& lane, int source) {
    if (source == channel_.rank()) return;
    Queue& queue = lane.queues[source];
    for (; queue.asked < queue.waiting.size(); ++queue.asked) lane.to_ask.push_back(source);
}

// The receives that wait for messages of this source, which will not come.
PointToPoint::Receives PointToPoint::take_waiting(Lane& lane, int source) {
    Receives taken;
    for (auto& [turn, receiving] : lane.queues[source].waiting) {
        taken.push_back(std::move(receiving));
    }
    lane.queues[source].waiting.clear();
    return taken;
}

void PointToPoint::drop_if_idle(int tag) {
    const auto lane = lanes_.find(tag);
    if (lane == lanes_.end() || lane->second.is_asking || !lane->second.to_ask.empty()) return;
    const bool is_idle = std::ranges::all_of(lane->second.queues, [](const auto& entry) {
        const Queue& queue = entry.second;
        return queue.waiting.empty() && queue.arrived.empty() && queue.asked == 0;
    });
    if (is_idle) lanes_.erase(lane);
}

// A receive that is new, or whose message was taken back, takes what has come or waits for it.
void PointToPoint::join(const std::shared_ptr<Receiving>& receiving) {
    const int tag = receiving->call.tag;
    for (;;) {
        std::optional<Arrival> arrival;
        Status ended;
        {
            const Lock lock(mutex_);
            Lane& lane = lanes_[tag];
            ended = receiving->is_late ? timed_out(receiving->call) : aborted_;
            if (ended.ok()) arrival = find_message(lane, *receiving);
            if (ended.ok() && !arrival) {
                lane.queues[receiving->call.source].waiting.emplace(receiving->turn, receiving);
                ask(lane, receiving->call.source);
            }
            drop_if_idle(tag);
        }
        if (!ended.ok()) return receiving->finish(ended);
        if (!arrival) return listen(tag);
        if (receiving->take(*arrival) == Receiving::Taken::Yes) return;
    }
}

// A message to oneself.
void PointToPoint::arrive(int tag, Arrival arrival) {
    std::shared_ptr<Receiving> receiving;
    Status aborted;
    {
        const Lock lock(mutex_);
        Lane& lane = lanes_[tag];
        aborted = aborted_;
        receiving = find_receive(lane, arrival);
        if (!receiving && aborted.ok()) {
            lane.queues[arrival.source].arrived.emplace(++turns_, arrival);
        }
        drop_if_idle(tag);
    }
    if (receiving) {
        receiving->take(arrival);
    } else if (!aborted.ok()) {
        arrival.local->finish(aborted);
    }
}

// The channel calls in the order in which messages came; whoever is later takes the lock later.
void PointToPoint::heard(const std::shared_ptr<Listening>& listening) noexcept {
    const Transfer& transfer = listening->transfer;
    const int tag = listening->tag;
    Arrival arrival{transfer.peer, listening, nullptr};
    std::shared_ptr<Receiving> receiving;
    Receives lost;
    {
        const Lock lock(mutex_);
        Lane& lane = lanes_[tag];
        --lane.queues[listening->source].asked;
        if (!transfer.status.ok()) {
            lost = take_waiting(lane, listening->source);
        } else if (transfer.bytes > 0) {  // else it was taken back
            receiving = find_receive(lane, arrival);
            if (!receiving && aborted_.ok()) {
                lane.queues[arrival.source].arrived.emplace(++turns_, arrival);
            }
        }
        // The receive that asked for the announcement may not be the one that gets it.
        ask(lane, listening->source);
        drop_if_idle(tag);
    }
    for (const auto& one : lost) one->finish(transfer.status);
    if (receiving && receiving->take(arrival) == Receiving::Taken::Back) join(receiving);
    listen(tag);
}

// Posts listeners one after the other, whoever wants them, so that the channel tells of messages in
// their order.
void PointToPoint::listen(int tag) noexcept {
    for (bool is_mine = false;;) {
        int source = 0;
        {
            const Lock lock(mutex_);
            const auto found = lanes_.find(tag);
            if (found == lanes_.end()) return;
            Lane& lane = found->second;
            if (lane.is_asking && !is_mine) return;  // that thread goes on
            is_mine = true;
            lane.is_asking = !lane.to_ask.empty();
            if (!lane.is_asking) return drop_if_idle(tag);
            source = lane.to_ask.front();
            lane.to_ask.pop_front();
        }
        post_listener(source, tag);
    }
}

void PointToPoint::post_listener(int source, int tag) noexcept {
    const auto listening = std::make_shared<Listening>(shared_from_this(), source, tag);
    try {
        const Using use(*this);
        listening->post();
    } catch (...) {
        // Nobody will answer: the receives that count on it end with the reason.
        const Status status = current_status();
        listening->withdraw();
        Receives lost;
        {
            const Lock lock(mutex_);
            Lane& lane = lanes_[tag];
            --lane.queues[source].asked;
            lost = take_waiting(lane, source);
        }
        for (const auto& one : lost) one->finish(status);
    }
}

void PointToPoint::drain(int source, uint64_t number) noexcept {
    const auto draining = std::make_shared<Draining>();
    draining->transfer.listener = draining;
    try {
        const Using use(*this);
        channel_.post_receive(draining->transfer, source, Slot::payload(number), nullptr, 0);
    } catch (...) {
        draining->transfer.hold.reset();  // the peer is gone, and its data with it
        draining->transfer.listener.reset();
    }
}

bool PointToPoint::give_up(const std::shared_ptr<Receiving>& receiving) noexcept {
    const int tag = receiving->call.tag;
    const Lock lock(mutex_);
    receiving->is_late = true;
    const auto lane = lanes_.find(tag);
    if (lane == lanes_.end()) return false;
    const auto queue = lane->second.queues.find(receiving->call.source);
    if (queue == lane->second.queues.end()) return false;
    const bool waited = queue->second.waiting.erase(receiving->turn) > 0;
    drop_if_idle(tag);
    return waited;
}

void PointToPoint::forget(const std::shared_ptr<Sending>& sending) noexcept {
    const int tag = sending->call.tag;
    const Lock lock(mutex_);
    const auto lane = lanes_.find(tag);
    if (lane == lanes_.end()) return;
    const auto queue = lane->second.queues.find(channel_.rank());
    if (queue == lane->second.queues.end()) return;
    std::erase_if(queue->second.arrived,
                  [&](const auto& entry) { return entry.second.local == sending; });
    drop_if_idle(tag);
}

void PointToPoint::abort(const Status& status) noexcept {
    Receives waiting;
    std::vector<Arrival> arrived;
    {
        const Lock lock(mutex_);
        if (aborted_.ok()) aborted_ = status;
        for (auto& [tag, lane] : lanes_) {
            for (auto& [source, queue] : lane.queues) {
                for (auto& [turn, one] : queue.waiting) waiting.push_back(std::move(one));
                for (auto& [turn, one] : queue.arrived) arrived.push_back(std::move(one));
                queue.waiting.clear();
                queue.arrived.clear();
            }
        }
    }
    for (const auto& one : waiting) one->finish(status);
    for (const auto& one : arrived) {
        if (one.local) one.local->finish(status);
    }
}

void PointToPoint::close() noexcept {
    Lock lock(mutex_);
    closed_ = true;
    while (users_ > 0) unused_.wait(lock);
}

}  // namespace tutti
