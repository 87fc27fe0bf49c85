// Byte strings whose sizes only their owners know: in a first step each shows how long its own is,
// with the bytes if they are few, and the longer ones follow as if all had known.
#include <array>
#include <cstring>

#include "base/plain.hpp"
#include "call/byte_strings.hpp"
#include "collectives.hpp"

namespace tutti::shm {

namespace {

using algorithm::unwritten;

// The contents of one line.
struct Head {
    uint64_t size;
    std::array<std::byte, Line::most - sizeof(uint64_t)> beginning;

    [[nodiscard]] bool has_all() const { return size <= beginning.size(); }
};
static_assert(sizeof(Head) == Line::most);

void post_head(Team& team, uint64_t step, ConstBytes byte_string) {
    Head head{byte_string.size(), {}};
    if (head.has_all()) std::ranges::copy(byte_string, head.beginning.begin());
    copy(team.stage(step, sizeof head), wire_bytes(head));
    team.post(step);
}

Head await_head(Team& team, uint64_t step, int peer) {
    Head head;
    std::memcpy(&head, team.await(peer, step, sizeof head).data(), sizeof head);
    return head;
}

// The byte string, whole if the head has it all, else room for it. `origin`: a rank of the group.
OwnedBytes open(const Team& team, const ByteStrings& call, const Head& head, int origin) {
    check_size(call, head.size, origin, team.group_rank(team.rank()));
    OwnedBytes byte_string(static_cast<size_t>(head.size));
    if (head.has_all()) {
        std::ranges::copy(ConstBytes(head.beginning).first(byte_string.size),
                          byte_string.bytes().begin());
    }
    return byte_string;
}

}  // namespace

void broadcast_byte_string(Team& team, const ByteStrings& call, int origin) {
    call.received->clear();
    const uint64_t step = team.take(1);
    if (team.rank() == call.root) {
        const ConstBytes byte_string = call.inputs.front();
        post_head(team, step, byte_string);
        team.finish(step, 0);
        if (byte_string.size() > Head{}.beginning.size())
            broadcast(team, unwritten(byte_string), call.root);
        return;
    }
    const Head head = await_head(team, step, call.root);
    team.finish(step, 0);
    call.received->push_back(open(team, call, head, origin));
    if (!head.has_all()) broadcast(team, call.received->front().bytes(), call.root);
}

namespace {

// All ranks know all sizes; returns the longest. Receivers open the strings.
size_t exchange_heads(Team& team, const ByteStrings& call, bool receives) {
    const uint64_t step = team.take(1);
    const auto own = static_cast<size_t>(team.rank());
    ByteStrings::Received& received = *call.received;
    post_head(team, step, call.inputs.front());
    if (receives) received.resize(static_cast<size_t>(team.size()));
    size_t longest = 0;
    for (int peer = 0; peer < team.size(); ++peer) {
        const Head head = await_head(team, step, peer);
        longest = std::max(longest, static_cast<size_t>(head.size));
        if (!receives || peer == team.rank()) continue;
        received[static_cast<size_t>(peer)] = open(team, call, head, team.group_rank(peer));
    }
    team.finish(step, 0);
    if (receives) received[own] = own_of(call, call.inputs.front());
    return longest;
}

std::vector<Bytes> places(const ByteStrings& call, int own) {
    std::vector<Bytes> all;
    for (const OwnedBytes& byte_string : *call.received) all.push_back(byte_string.bytes());
    if (!all.empty()) all[static_cast<size_t>(own)] = unwritten(call.inputs.front());
    return all;
}

void gather_byte_strings(Team& team, const ByteStrings& call) {
    const bool to_all = call.pattern == ByteStrings::Pattern::AllGather;
    const bool receives = to_all || team.rank() == call.root;
    const size_t longest = exchange_heads(team, call, receives);
    if (longest <= Head{}.beginning.size()) return;
    const ConstBytes input = call.inputs.front();
    if (to_all) {
        all_gather(team, input, places(call, team.rank()));
    } else {
        gather(team, input, places(call, team.rank()), longest, call.root);
    }
}

void scatter_byte_strings(Team& team, const ByteStrings& call) {
    const auto ranks = static_cast<size_t>(team.size());
    const auto own = static_cast<size_t>(team.rank());
    const uint64_t step = team.take(1);
    std::vector<uint64_t> sizes(ranks);
    const size_t bytes = ranks * sizeof(uint64_t);
    const bool gives = team.rank() == call.root;
    if (gives) {
        std::ranges::transform(call.inputs, sizes.begin(), &ConstBytes::size);
        std::memcpy(team.stage(step, bytes).data(), sizes.data(), bytes);
        team.post(step);
        call.received->push_back(own_of(call, call.inputs[own]));
    } else {
        std::memcpy(sizes.data(), team.await(call.root, step, bytes).data(), bytes);
        check_size(call, sizes[own], team.group_rank(call.root), team.group_rank(team.rank()));
        call.received->emplace_back(static_cast<size_t>(sizes[own]));
    }
    team.finish(step, bytes);
    const Bytes output = gives ? unwritten(call.inputs[own]) : call.received->front().bytes();
    scatter(team, call.inputs, output, static_cast<size_t>(std::ranges::max(sizes)), call.root);
}

}  // namespace

void byte_strings(Team& team, const ByteStrings& call) {
    if (call.pattern == ByteStrings::Pattern::Broadcast) {
        return broadcast_byte_string(team, call, team.group_rank(call.root));
    }
    call.received->clear();
    if (call.pattern == ByteStrings::Pattern::Scatter) return scatter_byte_strings(team, call);
    gather_byte_strings(team, call);
}

}  // namespace tutti::shm
