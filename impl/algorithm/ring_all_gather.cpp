#include <deque>

#include "algorithm.hpp"

namespace tutti::algorithm {

void ring_all_gather(Exchange& exchange, std::span<const Bytes> parts) {
    const int size = exchange.size();
    const int next = around(exchange.rank(), 1, size);
    const int previous = around(exchange.rank(), -1, size);
    const auto part = [&](int step) {
        return parts[static_cast<size_t>(around(exchange.rank(), -step, size))];
    };
    // Each step passes on the piece that the step before received; the last piece has been
    // everywhere.
    std::deque<Exchange::Ticket> arriving;
    for (int step = 1; step < size; ++step) {
        for (size_t index = 0; index < segments_of(part(step).size()); ++index) {
            arriving.push_back(exchange.receive(previous, segment_of(part(step), index)));
        }
    }
    for (int step = 0; step < size; ++step) {
        for (size_t index = 0; index < segments_of(part(step).size()); ++index) {
            if (step > 0) {
                exchange.wait(arriving.front());
                arriving.pop_front();
            }
            if (step < size - 1) exchange.send(next, segment_of(part(step), index));
        }
    }
    exchange.wait_all();
}

}  // namespace tutti::algorithm
