// A message under way holds itself and the engine until it is done. Two rules keep it simple: posts
// and Work::finish happen without the engine's lock, and the owner of a transfer lets go of it only
// after the post has returned.
#include "point_to_point.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "draining.hpp"
#include "listening.hpp"
#include "receiving.hpp"
#include "sending.hpp"
#include "using.hpp"

namespace tutti {

namespace {

// The receives that wait for messages of this source, which will not come.
template <typename Lane>
std::vector<std::shared_ptr<Receiving>> take_waiting(Lane& lane, int source) {
    std::vector<std::shared_ptr<Receiving>> taken;
    std::erase_if(lane.waiting, [&](const auto& one) {
        if (one->call.source != source) return false;
        taken.push_back(one);
        return true;
    });
    lane.wanted[source] = 0;
    return taken;
}

// Whether more receives wait for this source than announcements are listened for; counts one more.
template <typename Lane>
bool lacks_listener(Lane& lane, int source) {
    if (lane.wanted[source] <= lane.posted[source]) return false;
    ++lane.posted[source];
    return true;
}

}  // namespace

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
    if (call.destination == channel_.rank()) {
        arrive(call.tag, {call.destination, nullptr, sending}, false);
    } else {
        sending->post(number);
    }
    sending->set_alarm(deadline);
}

void PointToPoint::start(const Receive& call, const Deadline& deadline,
                         std::shared_ptr<Work> work) {
    const auto receiving = std::make_shared<Receiving>(shared_from_this(), call, std::move(work));
    join_lane(receiving, false);
    receiving->set_alarm(deadline);
}

// Takes what has arrived, or waits for it; `first`: before all others that wait.
void PointToPoint::join_lane(const std::shared_ptr<Receiving>& receiving, bool first) {
    const Receive& call = receiving->call;
    std::optional<Arrival> arrival;
    Status aborted;
    bool must_listen = false;
    {
        const Lock lock(mutex_);
        aborted = aborted_;
        Lane& lane = lanes_[call.tag];
        std::erase_if(lane.arrived,
                      [](const Arrival& one) { return one.local && one.local->finished(); });
        const auto found = std::ranges::find_if(
            lane.arrived, [&](const Arrival& one) { return receiving->accepts(one.source); });
        if (found != lane.arrived.end()) {
            arrival = std::move(*found);
            lane.arrived.erase(found);
        } else if (aborted.ok()) {
            lane.waiting.insert(first ? lane.waiting.begin() : lane.waiting.end(), receiving);
            ++lane.wanted[call.source];
            must_listen = call.source != channel_.rank() && lacks_listener(lane, call.source);
        }
    }
    if (!aborted.ok()) {
        receiving->finish(aborted);
    } else if (arrival) {
        deliver(receiving, std::move(*arrival));
    } else if (must_listen) {
        listen(call.source, call.tag);
    }
}

void PointToPoint::listen(int source, int tag) {
    const auto listening = std::make_shared<Listening>(shared_from_this(), source, tag);
    try {
        const Using use(*this);
        listening->post();
    } catch (...) {
        // Nobody will answer: the receives that count on it end with the reason.
        const Status status = current_status();
        listening->transfer.hold.reset();
        listening->transfer.listener.reset();
        std::vector<std::shared_ptr<Receiving>> lost;
        {
            const Lock lock(mutex_);
            Lane& lane = lanes_[tag];
            --lane.posted[source];
            lost = take_waiting(lane, source);
        }
        for (const auto& one : lost) one->finish(status);
    }
}

void PointToPoint::heard(const std::shared_ptr<Listening>& listening) noexcept {
    const Transfer& transfer = listening->transfer;
    const bool withdrawn = transfer.status.ok() && transfer.bytes == 0;
    if (transfer.status.ok() && !withdrawn) {
        {
            const Lock lock(mutex_);
            --lanes_[listening->tag].posted[listening->source];
        }
        return arrive(listening->tag, {transfer.peer, listening, nullptr}, false);
    }
    bool listen_again = false;
    std::vector<std::shared_ptr<Receiving>> lost;
    {
        const Lock lock(mutex_);
        Lane& lane = lanes_[listening->tag];
        listen_again = withdrawn && lane.wanted[listening->source] > 0;
        if (!listen_again) --lane.posted[listening->source];
        if (!withdrawn) lost = take_waiting(lane, listening->source);
    }
    for (const auto& one : lost) one->finish(transfer.status);
    if (listen_again) listen(listening->source, listening->tag);
}

// `again`: it was given to a receive that gave up; it comes before what came later.
void PointToPoint::arrive(int tag, Arrival arrival, bool again) {
    std::shared_ptr<Receiving> receiving;
    bool must_listen = false;
    {
        const Lock lock(mutex_);
        Lane& lane = lanes_[tag];
        const auto found = std::ranges::find_if(
            lane.waiting, [&](const auto& one) { return one->accepts(arrival.source); });
        if (found == lane.waiting.end()) {
            lane.arrived.insert(again ? lane.arrived.begin() : lane.arrived.end(),
                                std::move(arrival));
            return;
        }
        receiving = *found;
        lane.waiting.erase(found);
        --lane.wanted[receiving->call.source];
        // The one who asked for the announcement may not be the one who gets it.
        if (arrival.remote && !again) must_listen = lacks_listener(lane, arrival.remote->source);
    }
    if (must_listen) listen(arrival.remote->source, tag);
    deliver(receiving, std::move(arrival));
}

void PointToPoint::deliver(const std::shared_ptr<Receiving>& receiving, Arrival arrival) noexcept {
    switch (receiving->take(arrival)) {
        case Receiving::Taken::Yes:
            return;
        case Receiving::Taken::ReceiverGone:
            return arrive(receiving->call.tag, std::move(arrival), true);
        case Receiving::Taken::MessageGone:
            return join_lane(receiving, true);
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

bool PointToPoint::leave_lane(const std::shared_ptr<Receiving>& receiving) noexcept {
    const Lock lock(mutex_);
    Lane& lane = lanes_[receiving->call.tag];
    if (std::erase(lane.waiting, receiving) == 0) return false;
    --lane.wanted[receiving->call.source];
    return true;
}

void PointToPoint::abort(const Status& status) noexcept {
    std::map<int, Lane> lanes;
    {
        const Lock lock(mutex_);
        if (aborted_.ok()) aborted_ = status;
        for (auto& [tag, lane] : lanes_) {
            std::swap(lanes[tag].waiting, lane.waiting);
            std::swap(lanes[tag].arrived, lane.arrived);
            lane.wanted.clear();
        }
    }
    for (auto& [tag, lane] : lanes) {
        for (const auto& one : lane.waiting) one->finish(status);
        for (const auto& one : lane.arrived) {
            if (one.local) one.local->finish(status);
        }
    }
}

void PointToPoint::close() noexcept {
    Lock lock(mutex_);
    closed_ = true;
    while (users_ > 0) unused_.wait(lock);
}

}  // namespace tutti
