// A message under way holds itself and the engine until it is done. Two rules keep it simple: posts
// and Work::finish happen without the engine's lock, and the owner of a transfer lets go of it only
// after the post has returned.
#include "point_to_point.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "reduce/reduce.hpp"

namespace tutti {

// What travels in front of a message, and the message itself if it is short. Little endian, as it
// is.
struct PointToPoint::Announcement {
    struct Header {
        int64_t count;
        uint64_t number;  // of the slot of the data, if they do not follow here
        uint32_t dtype;
        uint32_t reserved;
        uint64_t reserved_2;
    };
    static constexpr size_t eager_bytes = 4096 - sizeof(Header);

    Header header;
    std::array<std::byte, eager_bytes> data;

    // Bytes of the data that follow in the announcement.
    static size_t eager(size_t bytes) { return bytes <= eager_bytes ? bytes : 0; }
};

// Inside: the channel is there and may be posted to.
class PointToPoint::Using {
public:
    explicit Using(PointToPoint& engine) : engine_(engine) {
        const Lock lock(engine_.mutex_);
        if (engine_.closed_) throw Error(engine_.aborted_);
        ++engine_.users_;
    }
    ~Using() {
        const Lock lock(engine_.mutex_);
        if (--engine_.users_ == 0) engine_.unused_.notify_all();
    }
    Using(const Using&) = delete;
    Using& operator=(const Using&) = delete;

private:
    PointToPoint& engine_;
};

// A send: done when the announcement, and the data if they travel alone, have gone.
class PointToPoint::Sending : public TransferListener,
                              public std::enable_shared_from_this<Sending> {
public:
    Sending(std::shared_ptr<PointToPoint> engine, const Send& send, std::shared_ptr<Work> work)
        : call(send), engine_(std::move(engine)), work_(std::move(work)) {}

    void post(uint64_t number, const Deadline& deadline) {
        announcement_.header = {call.buffer.count, number, call.buffer.dtype, 0, 0};
        const size_t bytes = call.buffer.size();
        const size_t eager = Announcement::eager(bytes);
        if (eager > 0) std::memcpy(announcement_.data.data(), call.buffer.data, eager);
        set_alarm(deadline);
        const Lock lock(posting_);
        try {
            const Using use(*engine_);
            pending_ = eager == bytes ? 2 : 3;
            head_.listener = shared_from_this();
            engine_->channel_.post_send(head_, call.destination, Slot::announcement(call.tag),
                                        &announcement_, sizeof(announcement_.header) + eager);
            if (eager != bytes) {
                body_.listener = shared_from_this();
                engine_->channel_.post_send(body_, call.destination, Slot::payload(number),
                                            call.buffer.data, bytes);
            }
        } catch (...) {
            finish(current_status());
            withdraw();
            return;
        }
        count_down();
    }
    void set_alarm(const Deadline& deadline) {
        alarm_ = engine_->alarm_->set(deadline, [weak = weak_from_this()] {
            if (const auto self = weak.lock()) self->time_out();
        });
    }
    void transfer_done(Transfer& /*transfer*/) noexcept override { count_down(); }
    void finish(const Status& status) noexcept {
        if (finished_.exchange(true)) return;
        engine_->alarm_->clear(alarm_);
        work_->finish(status);
    }
    [[nodiscard]] bool finished() const { return finished_; }

    const Send call;

private:
    void count_down() noexcept {
        if (--pending_ > 0) return;
        finish(head_.status.ok() ? body_.status : head_.status);
        head_.listener.reset();
        body_.listener.reset();
    }
    void time_out() noexcept {
        const Lock lock(posting_);
        if (finished_) return;
        withdraw();
        finish({TUTTI_ERR_TIMEOUT, call.destination, 0,
                cat("timed out: rank ", call.destination, " did not receive it")});
    }
    void withdraw() noexcept TUTTI_REQUIRES(posting_) {
        head_.hold.reset();
        body_.hold.reset();
        head_.listener.reset();
        body_.listener.reset();
    }

    const std::shared_ptr<PointToPoint> engine_;
    const std::shared_ptr<Work> work_;
    Announcement announcement_;
    Mutex posting_;
    std::atomic<int> pending_{0};  // transfers, and the post itself
    std::atomic<bool> finished_{false};
    std::atomic<Alarm::Id> alarm_{0};
    Transfer head_;
    Transfer body_;
};

// An announcement that has been asked for.
class PointToPoint::Listening : public TransferListener,
                                public std::enable_shared_from_this<Listening> {
public:
    Listening(std::shared_ptr<PointToPoint> engine, int from, int with_tag)
        : source(from), tag(with_tag), engine_(std::move(engine)) {}
    void post() {
        transfer.listener = shared_from_this();
        Channel& channel = engine_->channel_;
        const Slot slot = Slot::announcement(tag);
        if (source == any_source) {
            channel.post_receive_any(transfer, slot, &announcement, sizeof announcement);
        } else {
            channel.post_receive(transfer, source, slot, &announcement, sizeof announcement);
        }
    }
    void transfer_done(Transfer& /*transfer*/) noexcept override {
        const auto self = std::move(transfer.listener);
        engine_->heard(shared_from_this());
    }

    const int source;
    const int tag;
    Announcement announcement;
    Transfer transfer;

private:
    const std::shared_ptr<PointToPoint> engine_;
};

// An announced message that no receive has taken yet: from another rank, or from this one.
struct PointToPoint::Arrival {
    int source;
    std::shared_ptr<Listening> remote;
    std::shared_ptr<Sending> local;

    [[nodiscard]] int64_t count() const {
        return local ? local->call.buffer.count : remote->announcement.header.count;
    }
    [[nodiscard]] tutti_dtype dtype() const {
        return local ? local->call.buffer.dtype : remote->announcement.header.dtype;
    }
};

// Takes data nobody can use out of the channel, by receiving nothing.
class PointToPoint::Draining : public TransferListener {
public:
    Transfer transfer;
    void transfer_done(Transfer& /*transfer*/) noexcept override {
        const auto self = std::move(transfer.listener);
    }
};

// A receive: waits in its lane, then perhaps for the data.
class PointToPoint::Receiving : public TransferListener,
                                public std::enable_shared_from_this<Receiving> {
public:
    Receiving(std::shared_ptr<PointToPoint> engine, const Receive& receive,
              std::shared_ptr<Work> work)
        : call(receive), engine_(std::move(engine)), work_(std::move(work)) {}

    void set_alarm(const Deadline& deadline) {
        alarm_ = engine_->alarm_->set(deadline, [weak = weak_from_this()] {
            if (const auto self = weak.lock()) self->time_out();
        });
    }
    [[nodiscard]] bool accepts(int from) const {
        return call.source == from || (call.source == any_source && from != own_rank());
    }
    // False if it has given up meanwhile.
    bool take(const Arrival& arrival) {
        const Lock lock(posting_);
        if (finished_) return false;
        source_ = arrival.source;
        if (arrival.count() != call.buffer.count || arrival.dtype() != call.buffer.dtype) {
            refuse(arrival);
        } else if (arrival.local) {
            copy(arrival.local->call.buffer.data);
            arrival.local->finish({});
        } else if (Announcement::eager(call.buffer.size()) == call.buffer.size()) {
            copy(arrival.remote->announcement.data.data());
        } else {
            receive_body(arrival.remote->announcement.header.number);
        }
        return true;
    }
    void transfer_done(Transfer& /*transfer*/) noexcept override { count_down(); }
    void finish(const Status& status) noexcept {
        if (finished_.exchange(true)) return;
        engine_->alarm_->clear(alarm_);
        work_->finish(status, status.ok() ? source_.load() : -1);
    }

    const Receive call;

private:
    [[nodiscard]] int own_rank() const { return engine_->channel_.rank(); }
    void copy(const void* data) {
        if (call.buffer.size() > 0) std::memcpy(call.buffer.data, data, call.buffer.size());
        finish({});
    }
    void refuse(const Arrival& arrival) {
        const auto text = [](int64_t count, tutti_dtype dtype) {
            return cat(dtype_name(dtype), " × ", count);
        };
        const Status status{
            TUTTI_ERR_MISMATCH, arrival.source, 0,
            cat("rank ", arrival.source, " sent ", text(arrival.count(), arrival.dtype()),
                " where this receive is ", text(call.buffer.count, call.buffer.dtype))};
        finish(status);
        if (arrival.local) return arrival.local->finish(status);
        const auto& header = arrival.remote->announcement.header;
        if (arrival.remote->transfer.bytes == sizeof header && header.count > 0) {
            engine_->drain(arrival.source, header.number);
        }
    }
    void receive_body(uint64_t number) TUTTI_REQUIRES(posting_) {
        pending_ = 2;
        body_.listener = shared_from_this();
        try {
            const Using use(*engine_);
            engine_->channel_.post_receive(body_, source_, Slot::payload(number), call.buffer.data,
                                           call.buffer.size());
        } catch (...) {
            finish(current_status());
            body_.hold.reset();
            body_.listener.reset();
            return;
        }
        count_down();
    }
    void count_down() noexcept {
        if (--pending_ > 0) return;
        if (body_.status.ok() && body_.bytes != call.buffer.size()) {
            body_.status = {
                TUTTI_ERR_PEER_LOST, source_, 0,
                cat("rank ", source_.load(), " took its message back: its send timed out")};
        }
        finish(body_.status);
        body_.listener.reset();
    }
    void time_out() noexcept {
        const bool waited = engine_->leave_lane(shared_from_this());
        const Lock lock(posting_);
        if (finished_) return;
        body_.hold.reset();
        body_.listener.reset();
        const std::string who = call.source == any_source ? "any rank" : cat("rank ", call.source);
        finish({TUTTI_ERR_TIMEOUT, call.source, 0,
                cat("timed out waiting for ", waited ? "a message of " : "the data of ", who)});
    }

    const std::shared_ptr<PointToPoint> engine_;
    const std::shared_ptr<Work> work_;
    Mutex posting_;
    std::atomic<int> source_{-1};
    std::atomic<int> pending_{0};
    std::atomic<bool> finished_{false};
    std::atomic<Alarm::Id> alarm_{0};
    Transfer body_;
};

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
    if (call.destination != channel_.rank()) return sending->post(number, deadline);
    sending->set_alarm(deadline);
    arrive(call.tag, {call.destination, nullptr, sending});
}

void PointToPoint::start(const Receive& call, const Deadline& deadline,
                         std::shared_ptr<Work> work) {
    const auto receiving = std::make_shared<Receiving>(shared_from_this(), call, std::move(work));
    std::optional<Arrival> arrival;
    bool must_listen = false;
    {
        const Lock lock(mutex_);
        if (!aborted_.ok()) throw Error(aborted_);
        Lane& lane = lanes_[call.tag];
        const auto found = std::ranges::find_if(lane.arrived, [&](const Arrival& one) {
            return receiving->accepts(one.source) && !(one.local && one.local->finished());
        });
        if (found != lane.arrived.end()) {
            arrival = std::move(*found);
            lane.arrived.erase(found);
        } else {
            lane.waiting.push_back(receiving);
            const bool from_self = call.source == channel_.rank();
            must_listen = !from_self && ++lane.wanted[call.source] > lane.posted[call.source];
            if (must_listen) ++lane.posted[call.source];
        }
    }
    receiving->set_alarm(deadline);
    if (arrival) deliver(receiving, std::move(*arrival));
    if (must_listen) listen(call.source, call.tag);
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
            for (const auto& one : lane.waiting) {
                if (one->call.source == source) lost.push_back(one);
            }
            std::erase_if(lane.waiting,
                          [&](const auto& one) { return one->call.source == source; });
            lane.wanted[source] = 0;
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
        return arrive(listening->tag, {transfer.peer, listening, nullptr});
    }
    bool listen_again = false;
    std::vector<std::shared_ptr<Receiving>> lost;
    {
        const Lock lock(mutex_);
        Lane& lane = lanes_[listening->tag];
        listen_again = withdrawn && lane.wanted[listening->source] > 0;
        if (!listen_again) --lane.posted[listening->source];
        if (!withdrawn) {
            std::erase_if(lane.waiting, [&](const auto& one) {
                if (one->call.source != listening->source) return false;
                lost.push_back(one);
                return true;
            });
            lane.wanted[listening->source] = 0;
        }
    }
    for (const auto& one : lost) one->finish(transfer.status);
    if (listen_again) listen(listening->source, listening->tag);
}

void PointToPoint::arrive(int tag, Arrival arrival) {
    std::shared_ptr<Receiving> receiving;
    {
        const Lock lock(mutex_);
        Lane& lane = lanes_[tag];
        const auto found = std::ranges::find_if(
            lane.waiting, [&](const auto& one) { return one->accepts(arrival.source); });
        if (found == lane.waiting.end()) {
            lane.arrived.push_back(std::move(arrival));
            return;
        }
        receiving = *found;
        lane.waiting.erase(found);
        --lane.wanted[receiving->call.source];
    }
    deliver(receiving, std::move(arrival));
}

void PointToPoint::deliver(const std::shared_ptr<Receiving>& receiving, Arrival arrival) noexcept {
    if (!receiving->take(arrival)) arrive(receiving->call.tag, std::move(arrival));
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
