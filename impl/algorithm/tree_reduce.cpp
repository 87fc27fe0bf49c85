#include "algorithm.hpp"
#include "tree.hpp"

namespace tutti::algorithm {

namespace {

// The data of one child, in segments, with room for a few of them.
class Stream {
public:
    Stream(Exchange& exchange, int child, ConstBytes like)
        : exchange_(exchange),
          child_(child),
          like_(like),
          length_(std::min(segment_bytes, like.size())),
          room_(exchange.room(std::min(segments_ahead, segments_of(like.size())) * length_)) {
        for (size_t index = 0; index < segments_ahead; ++index) post(index);
    }

    // The next segment, until release() of it.
    ConstBytes next(size_t index) {
        exchange_.wait(arriving_[index]);
        return place(index);
    }
    void release(size_t index) { post(index + segments_ahead); }

private:
    [[nodiscard]] Bytes place(size_t index) const {
        return room_.subspan(index % segments_ahead * length_, segment_of(like_, index).size());
    }
    void post(size_t index) {
        if (index >= segments_of(like_.size())) return;
        arriving_.push_back(exchange_.receive(child_, place(index)));
    }

    Exchange& exchange_;
    const int child_;
    const ConstBytes like_;
    const size_t length_;
    const Bytes room_;
    std::vector<Exchange::Ticket> arriving_;
};

}  // namespace

void tree_reduce(Exchange& exchange, ConstBytes input, Bytes output, int root,
                 const Reduction& reduction) {
    const Tree tree = tree_at(exchange.rank(), exchange.size(), root);
    std::vector<Stream> streams;
    // The first that is done, first.
    for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
        streams.emplace_back(exchange, child->rank, input);
    }
    Bytes sums;  // of this rank's subtree
    if (!streams.empty()) sums = tree.parent ? exchange.room(input.size()) : output;
    for (size_t index = 0; index < segments_of(input.size()); ++index) {
        ConstBytes sum = segment_of(input, index);
        for (Stream& stream : streams) {
            const Bytes here = segment_of(sums, index);
            reduction.combine(here, sum, stream.next(index));
            stream.release(index);
            sum = here;
        }
        if (tree.parent) exchange.send(*tree.parent, sum);
    }
    exchange.wait_all();
    if (!tree.parent) reduction.finish(output, exchange.size());
}

}  // namespace tutti::algorithm
