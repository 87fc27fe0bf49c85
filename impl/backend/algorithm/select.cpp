// Which algorithm serves which call.
#include <cstring>

#include "algorithm.hpp"
#include "reduce/reduce.hpp"

namespace tutti::algorithm {

namespace {

// Up to here the rounds of recursive doubling cost less than the ring's steps.
constexpr size_t longest_doubling_bytes = 32 * 1024;

void copy_input(const AllReduce& call) {
    if (call.input.data != call.output.data && call.output.size() > 0) {
        std::memcpy(call.output.data, call.input.data, call.output.size());
    }
}

void run(Exchange& exchange, const Broadcast& call) {
    tree_broadcast(exchange, call.buffer.bytes(), call.source);
}

void run(Exchange& exchange, const AllReduce& call) {
    copy_input(call);
    const bool is_long =
        call.output.size() > longest_doubling_bytes && call.output.count >= exchange.size();
    is_long ? ring_all_reduce(exchange, call) : recursive_doubling_all_reduce(exchange, call);
}

void run(Exchange& exchange, const Barrier&) {
    dissemination_barrier(exchange);
}

void run_alone(const Broadcast&) {}
void run_alone(const AllReduce& call) {
    if (call.output.dtype != TUTTI_BOOL) return copy_input(call);
    // Any value but 0 is true, and a result is 0 or 1.
    reduce_to(call.output.data, call.input.data, call.input.data,
              static_cast<size_t>(call.output.count), TUTTI_BOOL, TUTTI_BOR);
}
void run_alone(const Barrier&) {}

}  // namespace

void run(Channel& channel, const Collective& call, uint64_t number, const Deadline& deadline) {
    if (channel.size() == 1) {
        std::visit([](const auto& one) { run_alone(one); }, call);
        return;
    }
    Exchange exchange(channel, fingerprint(call), number, deadline);
    std::visit([&](const auto& one) { run(exchange, one); }, call);
}

}  // namespace tutti::algorithm
