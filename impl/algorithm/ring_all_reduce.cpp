// First round: part p starts at rank p + 1 and is added to at every stop until rank p has the sum.
// Second round: the sums go around. Each part is summed in one order on one rank, so all ranks get
// the same bits. Parts move in segments.
#include <deque>

#include "algorithm.hpp"
#include "base/fault_point.hpp"

namespace tutti::algorithm {

namespace {

struct Segment {
    Bytes data;
    bool last_stop;  // of the first round: here the sum is complete
};

class RingAllReduce {
public:
    RingAllReduce(Exchange& exchange, Bytes data, const Reduction& reduction)
        : exchange_(exchange),
          reduction_(reduction),
          parts_(even_parts(data, reduction.element(), exchange.size())),
          next_(around(exchange.rank(), 1, exchange.size())),
          previous_(around(exchange.rank(), -1, exchange.size())) {}

    void run() {
        // Step s sends the part that step s - 1 received; the first step sends this rank's own.
        send_part(exchange_.rank() - 1);
        room_ = exchange_.room(segment_bytes * segments_ahead);
        reduce_round();
        gather_round();
        exchange_.wait_all();
    }

private:
    void cut(int part, bool last_stop, std::vector<Segment>& out) const {
        const Bytes data = parts_[static_cast<size_t>(around(part, 0, exchange_.size()))];
        if (data.empty()) return;
        for (size_t index = 0; index < segments_of(data.size()); ++index) {
            out.push_back({segment_of(data, index), last_stop});
        }
    }

    void send_part(int part) {
        std::vector<Segment> segments;
        cut(part, false, segments);
        for (const Segment& segment : segments) send(segment);
    }

    void send(const Segment& segment) { exchange_.send(next_, segment.data); }

    void reduce_round() {
        std::vector<Segment> plan;
        for (int step = 1; step < exchange_.size(); ++step) {
            cut(exchange_.rank() - 1 - step, step == exchange_.size() - 1, plan);
        }
        std::deque<Exchange::Ticket> posted;
        size_t next_post = 0;
        const auto slot = [&](size_t index) {
            return room_.subspan(index % segments_ahead * segment_bytes, plan[index].data.size());
        };
        const auto post = [&] {
            if (next_post == plan.size()) return;
            posted.push_back(exchange_.receive(previous_, slot(next_post)));
            ++next_post;
        };
        for (size_t ahead = 0; ahead < segments_ahead; ++ahead) post();
        for (size_t index = 0; index < plan.size(); ++index) {
            const Segment& segment = plan[index];
            exchange_.wait(posted.front());
            posted.pop_front();
            TUTTI_FAULT_POINT("ring.segment");
            reduction_.combine(segment.data, slot(index));
            post();
            if (segment.last_stop) reduction_.finish(segment.data, exchange_.size());
            send(segment);
        }
    }

    void gather_round() {
        // reduce_round() has sent this rank's sum on its way already.
        std::vector<Segment> plan;
        for (int step = 1; step < exchange_.size(); ++step) {
            const size_t before = plan.size();
            cut(exchange_.rank() - step, false, plan);
            const bool goes_no_further = step == exchange_.size() - 1;
            for (size_t index = before; index < plan.size(); ++index) {
                plan[index].last_stop = goes_no_further;
            }
        }
        std::deque<Exchange::Ticket> posted;
        for (const Segment& segment : plan) {
            posted.push_back(exchange_.receive(previous_, segment.data));
        }
        for (const Segment& segment : plan) {
            exchange_.wait(posted.front());
            posted.pop_front();
            if (!segment.last_stop) send(segment);
        }
    }

    Exchange& exchange_;
    const Reduction& reduction_;
    const std::vector<Bytes> parts_;
    const int next_;
    const int previous_;
    Bytes room_;
};

}  // namespace

void ring_all_reduce(Exchange& exchange, Bytes data, const Reduction& reduction) {
    RingAllReduce(exchange, data, reduction).run();
}

}  // namespace tutti::algorithm
