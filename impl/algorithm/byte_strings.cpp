// Byte strings of any size. The first message to a rank says how long the byte string is, and has
// its beginning. What is short is there with it; room for the rest is made when its size is known
// and within the limit.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "algorithm.hpp"
#include "base/error.hpp"
#include "tree.hpp"

namespace tutti::algorithm {

namespace {

// The part of a byte string that travels with its size.
constexpr size_t first_bytes = Exchange::eager_bytes - sizeof(uint64_t);

ConstBytes beginning_of(ConstBytes byte_string) {
    return byte_string.first(std::min(byte_string.size(), first_bytes));
}

ConstBytes rest_of(ConstBytes byte_string) {
    return byte_string.subspan(beginning_of(byte_string).size());
}

Bytes rest_of(const OwnedBytes& byte_string) {
    return byte_string.bytes().subspan(std::min(byte_string.size, first_bytes));
}

ConstBytes write_first(Exchange& exchange, ConstBytes byte_string) {
    const uint64_t size = byte_string.size();
    const ConstBytes beginning = beginning_of(byte_string);
    const Bytes room = exchange.room(sizeof size + beginning.size());
    std::memcpy(room.data(), &size, sizeof size);
    copy(room.subspan(sizeof size), beginning);
    return room;
}

class Arrival {
public:
    Arrival(Exchange& exchange, int source)
        : exchange_(exchange),
          source_(source),
          first_(exchange.room(Exchange::eager_bytes)),
          ticket_(exchange.receive_first(source, first_)) {}

    [[nodiscard]] int source() const { return source_; }
    // As it came, once it is open.
    [[nodiscard]] ConstBytes first() const { return first_; }

    // When the first message is there: the byte string, with its beginning. `origin`: whose it is,
    // where others pass it on.
    OwnedBytes open(const ByteStrings& call, int origin) {
        first_ = exchange_.wait_first(ticket_);
        uint64_t size = 0;
        if (first_.size() >= sizeof size) std::memcpy(&size, first_.data(), sizeof size);
        check_size(call, size, exchange_.group_rank(origin),
                   exchange_.group_rank(exchange_.rank()));
        const auto begins = static_cast<size_t>(std::min<uint64_t>(size, first_bytes));
        if (first_.size() != sizeof size + begins) {
            const int sender = exchange_.group_rank(source_);
            throw Error(TUTTI_ERR_INTERNAL,
                        cat("rank ", sender, " segmented its data differently: ", first_.size(),
                            " bytes where ", sizeof size + begins, " were expected"),
                        sender);
        }
        OwnedBytes byte_string(static_cast<size_t>(size));
        copy(byte_string.bytes(), first_.subspan(sizeof size));
        return byte_string;
    }

private:
    Exchange& exchange_;
    int source_;
    Bytes first_;
    Exchange::Ticket ticket_;
};

void receive_rest(Exchange& exchange, const OwnedBytes& byte_string, int source) {
    const Bytes rest = rest_of(byte_string);
    if (rest.empty()) return;
    for (size_t index = 0; index < segments_of(rest.size()); ++index) {
        exchange.receive(source, segment_of(rest, index));
    }
}

void send(Exchange& exchange, ConstBytes byte_string, int destination) {
    exchange.send(destination, write_first(exchange, byte_string));
    const ConstBytes rest = rest_of(byte_string);
    if (rest.empty()) return;
    for (size_t index = 0; index < segments_of(rest.size()); ++index) {
        exchange.send(destination, segment_of(rest, index));
    }
}

// Where the first message of a broadcast goes: from few ranks' root straight to each.
struct Way {
    std::optional<int> from;
    std::vector<int> to;
};

Way way_of_first(const Exchange& exchange, int root) {
    constexpr int few = 8;
    Way way;
    if (exchange.size() > few) {
        const Tree tree = tree_at(exchange.rank(), exchange.size(), root);
        way.from = tree.parent;
        for (const auto& child : tree.children) way.to.push_back(child.rank);
    } else if (exchange.rank() != root) {
        way.from = root;
    } else {
        for (int distance = 1; distance < exchange.size(); ++distance) {
            way.to.push_back(around(root, distance, exchange.size()));
        }
    }
    return way;
}

void broadcast(Exchange& exchange, const ByteStrings& call) {
    const Way way = way_of_first(exchange, call.root);
    ByteStrings::Received& received = *call.received;
    Bytes rest;
    if (!way.from) {
        const ConstBytes first = write_first(exchange, call.inputs.front());
        for (const int rank : way.to) exchange.send(rank, first);
        rest = unwritten(rest_of(call.inputs.front()));
    } else {
        Arrival arrival(exchange, *way.from);
        received.push_back(arrival.open(call, call.root));
        for (const int rank : way.to) exchange.send(rank, arrival.first());
        rest = rest_of(received.front());
    }
    if (!rest.empty()) tree_broadcast(exchange, rest, call.root);
    exchange.wait_all();
}

// Expects the byte strings of all other ranks.
std::vector<Arrival> expect_all(Exchange& exchange) {
    std::vector<Arrival> arrivals;
    for (int distance = 1; distance < exchange.size(); ++distance) {
        arrivals.emplace_back(exchange, around(exchange.rank(), -distance, exchange.size()));
    }
    return arrivals;
}

void all_gather(Exchange& exchange, const ByteStrings& call) {
    ByteStrings::Received& received = *call.received;
    received.resize(static_cast<size_t>(exchange.size()));
    std::vector<Arrival> arrivals = expect_all(exchange);
    const ConstBytes first = write_first(exchange, call.inputs.front());
    for (int distance = 1; distance < exchange.size(); ++distance) {
        exchange.send(around(exchange.rank(), distance, exchange.size()), first);
    }
    const auto own = static_cast<size_t>(exchange.rank());
    received[own] = own_of(call, call.inputs.front());
    for (Arrival& arrival : arrivals) {
        received[static_cast<size_t>(arrival.source())] = arrival.open(call, arrival.source());
    }
    std::vector<Bytes> rests;
    for (const OwnedBytes& byte_string : received) rests.push_back(rest_of(byte_string));
    rests[own] = unwritten(rest_of(call.inputs.front()));
    if (total_size(std::span<const Bytes>(rests)) > 0) ring_all_gather(exchange, rests);
    exchange.wait_all();
}

void gather(Exchange& exchange, const ByteStrings& call) {
    ByteStrings::Received& received = *call.received;
    if (exchange.rank() != call.root) {
        send(exchange, call.inputs.front(), call.root);
    } else {
        received.resize(static_cast<size_t>(exchange.size()));
        for (Arrival& arrival : expect_all(exchange)) {
            OwnedBytes& byte_string = received[static_cast<size_t>(arrival.source())];
            byte_string = arrival.open(call, arrival.source());
            receive_rest(exchange, byte_string, arrival.source());
        }
        received[static_cast<size_t>(call.root)] = own_of(call, call.inputs.front());
    }
    exchange.wait_all();
}

void scatter(Exchange& exchange, const ByteStrings& call) {
    ByteStrings::Received& received = *call.received;
    if (exchange.rank() == call.root) {
        for (int distance = 1; distance < exchange.size(); ++distance) {
            const int rank = around(call.root, distance, exchange.size());
            send(exchange, call.inputs[static_cast<size_t>(rank)], rank);
        }
        received.push_back(own_of(call, call.inputs[static_cast<size_t>(call.root)]));
    } else {
        Arrival arrival(exchange, call.root);
        received.push_back(arrival.open(call, arrival.source()));
        receive_rest(exchange, received.front(), call.root);
    }
    exchange.wait_all();
}

}  // namespace

// Incoming data are written where the call has them: on failure the Exchange uses that memory
// longer than these functions run.
void byte_strings(Exchange& exchange, const ByteStrings& call) {
    call.received->clear();
    switch (call.pattern) {
        case ByteStrings::Pattern::Broadcast:
            return broadcast(exchange, call);
        case ByteStrings::Pattern::AllGather:
            return all_gather(exchange, call);
        case ByteStrings::Pattern::Gather:
            return gather(exchange, call);
        case ByteStrings::Pattern::Scatter:
            return scatter(exchange, call);
    }
}

void byte_strings_alone(const ByteStrings& call) {
    call.received->clear();
    if (call.pattern == ByteStrings::Pattern::Broadcast) return;
    call.received->push_back(own_of(call, call.inputs.front()));
}

}  // namespace tutti::algorithm
