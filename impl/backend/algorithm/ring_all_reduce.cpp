// First round: part p starts at rank p + 1 and is added to at every stop until rank p has the sum.
// Second round: the sums go around. Each part is summed in one order on one rank, so all ranks get
// the same bits. Parts move in segments, with several receives posted ahead, so that the line and
// the adding keep each other company.
#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "algorithm.hpp"
#include "base/fault_point.hpp"
#include "reduce/reduce.hpp"

namespace tutti::algorithm {

namespace {

constexpr size_t segment_bytes = 512 * 1024;
constexpr size_t segments_ahead = 4;

struct Segment {
    size_t begin;
    size_t bytes;
    bool last_stop;  // of the first round: here the sum is complete
};

class Ring {
public:
    Ring(Exchange& exchange, const AllReduce& call)
        : exchange_(exchange),
          call_(call),
          element_(element_size(call.output.dtype)),
          data_(call.output.bytes()),
          next_((exchange.rank() + 1) % exchange.size()),
          previous_((exchange.rank() - 1 + exchange.size()) % exchange.size()) {}

    void run() {
        // What goes out at step s came in at step s - 1; at the first step it is this rank's own.
        send_part(exchange_.rank() - 1);
        const size_t room_bytes = segment_bytes * segments_ahead;
        room_ = std::make_unique_for_overwrite<std::byte[]>(room_bytes);
        reduce_round();
        gather_round();
        exchange_.wait_all();
    }

private:
    // The elements of a part, cut into segments of whole elements.
    void cut(int part, bool last_stop, std::vector<Segment>& out) const {
        const int size = exchange_.size();
        const auto index = static_cast<int64_t>((part % size + size) % size);
        const int64_t count = call_.output.count;
        const auto start = [&](int64_t p) {
            return static_cast<size_t>(p * (count / size) + std::min(p, count % size)) * element_;
        };
        const size_t step = segment_bytes / element_ * element_;
        for (size_t at = start(index); at < start(index + 1); at += step) {
            out.push_back({at, std::min(step, start(index + 1) - at), last_stop});
        }
    }

    void send_part(int part) {
        std::vector<Segment> segments;
        cut(part, false, segments);
        for (const Segment& segment : segments) send(segment);
    }

    void send(const Segment& segment) {
        exchange_.send(next_, data_.subspan(segment.begin, segment.bytes));
    }

    void reduce_round() {
        std::vector<Segment> plan;
        for (int step = 1; step < exchange_.size(); ++step) {
            cut(exchange_.rank() - 1 - step, step == exchange_.size() - 1, plan);
        }
        std::deque<Exchange::Ticket> posted;
        size_t next_post = 0;
        const auto slot = [&](size_t index) {
            return room_.get() + index % segments_ahead * segment_bytes;
        };
        const auto post = [&] {
            if (next_post == plan.size()) return;
            posted.push_back(
                exchange_.receive(previous_, {slot(next_post), plan[next_post].bytes}));
            ++next_post;
        };
        for (size_t ahead = 0; ahead < segments_ahead; ++ahead) post();
        for (size_t index = 0; index < plan.size(); ++index) {
            const Segment& segment = plan[index];
            exchange_.wait(posted.front());
            posted.pop_front();
            TUTTI_FAULT_POINT("ring.segment");
            std::byte* const mine = data_.data() + segment.begin;
            const size_t count = segment.bytes / element_;
            reduce_into(mine, slot(index), count, call_.output.dtype, call_.op);
            post();
            if (segment.last_stop && call_.op == TUTTI_AVG) {
                divide_by(mine, count, call_.output.dtype, exchange_.size());
            }
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
            posted.push_back(
                exchange_.receive(previous_, data_.subspan(segment.begin, segment.bytes)));
        }
        for (const Segment& segment : plan) {
            exchange_.wait(posted.front());
            posted.pop_front();
            if (!segment.last_stop) send(segment);
        }
    }

    Exchange& exchange_;
    const AllReduce& call_;
    const size_t element_;
    const std::span<std::byte> data_;
    const int next_;
    const int previous_;
    std::unique_ptr<std::byte[]> room_;
};

}  // namespace

void ring_all_reduce(Exchange& exchange, const AllReduce& call) {
    Ring(exchange, call).run();
}

}  // namespace tutti::algorithm
