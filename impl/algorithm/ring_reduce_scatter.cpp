// Part p starts at rank p + 1 and is added to at every stop until rank p has the sum. What is under
// way is in memory of our own: nobody's input changes.
#include <deque>

#include "algorithm.hpp"
#include "base/fault_point.hpp"

namespace tutti::algorithm {

namespace {

class RingReduceScatter {
public:
    RingReduceScatter(Exchange& exchange, std::span<const ConstBytes> inputs, Bytes output,
                      const Reduction& reduction)
        : exchange_(exchange),
          reduction_(reduction),
          output_(output),
          next_(around(exchange.rank(), 1, exchange.size())),
          previous_(around(exchange.rank(), -1, exchange.size())) {
        size_t most = 0;
        for (int step = 0; step < exchange.size(); ++step) {
            const int part = around(exchange.rank(), -1 - step, exchange.size());
            const ConstBytes input = inputs[static_cast<size_t>(part)];
            const size_t segments = segments_of(input.size());
            for (size_t index = 0; index < segments; ++index) {
                mine_.push_back(segment_of(input, index));
                longest_ = std::max(longest_, mine_.back().size());
            }
            most = std::max(most, segments);
            if (step == 0) first_ = segments;
            if (step == exchange.size() - 1) last_ = mine_.size() - segments;
        }
        // A segment that has come can only leave when the part before it has left. With as many
        // rooms as a part and the receives ahead need, a rank that waits for a room waits for a
        // rank that has not got as far as itself; so never do all ranks wait.
        rooms_ = most + segments_ahead;
        room_ = exchange.room(rooms_ * longest_);
    }

    void run() {
        for (size_t index = 0; index < first_; ++index) exchange_.send(next_, mine_[index]);
        for (size_t ahead = 0; ahead < segments_ahead; ++ahead) post(first_ + ahead);
        for (size_t index = first_; index < mine_.size(); ++index) {
            exchange_.wait(arriving_.front());
            arriving_.pop_front();
            TUTTI_FAULT_POINT("ring.segment");
            if (index < last_) {
                reduction_.combine(room(index), mine_[index]);
                leaving_.push_back({index, exchange_.send(next_, room(index))});
            } else {
                reduction_.combine(segment_of(output_, index - last_), room(index), mine_[index]);
            }
            post(index + segments_ahead);
        }
        exchange_.wait_all();
        reduction_.finish(output_, exchange_.size());
    }

private:
    struct Leaving {
        size_t index;
        Exchange::Ticket ticket;
    };

    [[nodiscard]] Bytes room(size_t index) const {
        return room_.subspan(index % rooms_ * longest_, mine_[index].size());
    }

    void post(size_t index) {
        if (index >= mine_.size()) return;
        while (!leaving_.empty() && leaving_.front().index + rooms_ <= index) {
            exchange_.wait(leaving_.front().ticket);
            leaving_.pop_front();
        }
        arriving_.push_back(exchange_.receive(previous_, room(index)));
    }

    Exchange& exchange_;
    const Reduction& reduction_;
    const Bytes output_;
    const int next_;
    const int previous_;
    std::vector<ConstBytes> mine_;  // segments of this rank's input, in the order of the steps
    size_t longest_ = 0;
    size_t first_ = 0;  // so many of them go out as they are
    size_t last_ = 0;   // from here on the sum is complete
    size_t rooms_ = 0;
    Bytes room_;
    std::deque<Exchange::Ticket> arriving_;
    std::deque<Leaving> leaving_;
};

}  // namespace

void ring_reduce_scatter(Exchange& exchange, std::span<const ConstBytes> inputs, Bytes output,
                         const Reduction& reduction) {
    RingReduceScatter(exchange, inputs, output, reduction).run();
}

}  // namespace tutti::algorithm
