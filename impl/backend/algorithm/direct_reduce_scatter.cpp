#include <array>
#include <deque>

#include "algorithm.hpp"

namespace tutti::algorithm {

namespace {

constexpr size_t rooms = 2 * segments_ahead;

}  // namespace

void direct_reduce_scatter(Exchange& exchange, std::span<const ConstBytes> inputs, Bytes output,
                           const Reduction& reduction) {
    const int rank = exchange.rank();
    const int size = exchange.size();
    const ConstBytes mine = inputs[static_cast<size_t>(rank)];
    for (int distance = 1; distance < size; ++distance) {
        const int target = around(rank, distance, size);
        const ConstBytes theirs = inputs[static_cast<size_t>(target)];
        for (size_t index = 0; index < segments_of(theirs.size()); ++index) {
            exchange.send(target, segment_of(theirs, index));
        }
    }
    std::array<Bytes, rooms> room;
    for (Bytes& one : room) one = exchange.room(std::min(mine.size(), segment_bytes));
    // The first segment of every rank, then the second of every rank, …
    const auto senders = static_cast<size_t>(size - 1);
    const size_t messages = segments_of(mine.size()) * senders;
    std::deque<Exchange::Ticket> arriving;
    const auto post = [&](size_t message) {
        if (message >= messages) return;
        const auto distance = static_cast<int>(message % senders) + 1;
        const size_t bytes = segment_of(mine, message / senders).size();
        arriving.push_back(
            exchange.receive(around(rank, -distance, size), room[message % rooms].first(bytes)));
    };
    for (size_t message = 0; message < rooms; ++message) post(message);
    for (size_t message = 0; message < messages; ++message) {
        exchange.wait(arriving.front());
        arriving.pop_front();
        const size_t index = message / senders;
        const Bytes sum = segment_of(output, index);
        const ConstBytes before = message % senders == 0 ? segment_of(mine, index) : sum;
        reduction.combine(sum, before, room[message % rooms].first(sum.size()));
        post(message + rooms);
    }
    exchange.wait_all();
    reduction.finish(output, size);
}

}  // namespace tutti::algorithm
