// Short calls of one kind, dtype and op that follow each other become one call on memory that holds
// the data of all, so they share their messages. Ranks agree on what is merged, for they agree on
// the calls, which the layout in every fingerprint proves.
#include <memory>

#include "algorithm.hpp"

namespace tutti::algorithm {

namespace {

using Kind = FlatCall::Kind;

// Beyond these the copying costs more than the messages.
constexpr size_t max_member = 64 * 1024;
constexpr size_t max_merged = 1024 * 1024;

// Bytes of the larger side, which is the same on all ranks in calls of the kinds that are merged.
size_t weight(const FlatCall& call) {
    return std::max(total_size<const std::byte>(call.inputs), total_size<std::byte>(call.outputs));
}

bool can_share(const FlatCall& call) {
    const bool is_kind = call.kind == Kind::AllReduce || call.kind == Kind::AllGather ||
                         call.kind == Kind::ReduceScatter;
    return is_kind && weight(call) <= max_member;
}

// Ops of callers are alone, for ranks cannot see whether each other's are the same.
bool are_alike(const FlatCall& one, const FlatCall& other) {
    const Fingerprint& a = one.fingerprint;
    const Fingerprint& b = other.fingerprint;
    return a.kind == b.kind && a.dtype == b.dtype && a.op == b.op && a.op < TUTTI_PREMUL_SUM;
}

// How many of the calls, from the first on, are done at once.
size_t how_many_merge(std::span<const FlatCall> calls) {
    size_t count = 0;
    size_t bytes = 0;
    for (const FlatCall& call : calls) {
        if (!can_share(call) || !are_alike(call, calls.front())) break;
        bytes += weight(call);
        if (bytes > max_merged) break;
        ++count;
    }
    return count;
}

// One call on memory of its own that stands for several.
class Merged {
public:
    explicit Merged(std::span<const FlatCall> members) : members_(members) {
        const FlatCall& like = members.front();
        call_.kind = like.kind;
        call_.sizes = like.sizes;
        call_.dtype = like.dtype;
        call_.device = like.device;
        call_.op = like.op;
        call_.outputs = cut(output_, &FlatCall::outputs);
        if (like.kind == Kind::AllReduce) {
            call_.inputs = ConstBytes(call_.output());
        } else {
            for (const Bytes piece : cut(input_, &FlatCall::inputs)) call_.inputs.add(piece);
        }
        each_piece(&FlatCall::inputs, [](Bytes ours, ConstBytes theirs) { copy(ours, theirs); });
    }

    [[nodiscard]] const FlatCall& call() const { return call_; }
    void unpack() const {
        each_piece(&FlatCall::outputs, [](Bytes ours, Bytes theirs) { copy(theirs, ours); });
    }

private:
    using Room = std::unique_ptr<std::byte[]>;

    // Memory for one side of all members, as each of them cuts it.
    template <typename Side>
    Pieces<std::byte> cut(Room& room, Side FlatCall::*side) const {
        std::vector<size_t> lengths((members_.front().*side).size());
        size_t bytes = 0;
        for (const FlatCall& member : members_) {
            for (size_t index = 0; index < lengths.size(); ++index) {
                lengths[index] += (member.*side)[index].size();
                bytes += (member.*side)[index].size();
            }
        }
        room = std::make_unique_for_overwrite<std::byte[]>(bytes);
        Pieces<std::byte> pieces;
        pieces.reserve(lengths.size());
        std::byte* at = room.get();
        for (const size_t length : lengths) {
            pieces.add({at, length});
            at += length;
        }
        return pieces;
    }

    // act(part of this call's piece, the member's piece).
    template <typename Side, typename Act>
    void each_piece(Side FlatCall::*side, Act act) const {
        const auto& whole = call_.*side;
        for (size_t index = 0; index < whole.size(); ++index) {
            Bytes left = unwritten(whole[index]);
            for (const FlatCall& member : members_) {
                const auto piece = (member.*side)[index];
                act(left.first(piece.size()), piece);
                left = left.subspan(piece.size());
            }
        }
    }

    const std::span<const FlatCall> members_;
    Room input_;
    Room output_;
    FlatCall call_;
};

}  // namespace

void run_coalesced(const FlatCall& coalesced, const PastCalls& past, const RunOne& run_one) {
    const Fingerprint& whole = coalesced.fingerprint;
    uint32_t index = 0;
    for (std::span<const FlatCall> left = coalesced.calls; !left.empty(); ++index) {
        const FlatCall& first = left.front();
        Fingerprint print = first.fingerprint;
        print.layout = extend_layout(print.layout, whole.layout);
        const size_t count = how_many_merge(left);
        if (count < 2) {
            run_one(first, print, {index, whole, past});
            left = left.subspan(1);
        } else {
            const Merged merged(left.first(count));
            run_one(merged.call(), print, {index, whole, past});
            merged.unpack();
            left = left.subspan(count);
        }
    }
}

void run_coalesced(Channel& channel, const FlatCall& coalesced, uint64_t sequence,
                   const Deadline& deadline, const PastCalls& past) {
    run_coalesced(coalesced, past,
                  [&](const FlatCall& one, const Fingerprint& print, const Exchange::Step& step) {
                      Exchange exchange(channel, print, sequence, deadline, step);
                      run(exchange, one);
                  });
}

}  // namespace tutti::algorithm
