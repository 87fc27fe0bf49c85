// Short calls of one kind, dtype and op that follow each other become one call on memory that holds
// the data of all, so they share their messages. Ranks agree on what is merged, for they agree on
// the calls, which the layout in every fingerprint proves.
#include <memory>
#include <optional>

#include "algorithm.hpp"

namespace tutti::algorithm {

namespace {

// Beyond these the copying costs more than the messages.
constexpr size_t longest_member = 64 * 1024;
constexpr size_t longest_merged = 1024 * 1024;

// What the memory of a merged call is made of.
struct Member {
    ConstView input;
    View output;
};

// A call that can share its messages, or nothing.
std::optional<Member> member_of(const Collective& call) {
    std::optional<Member> member;
    if (const auto* reduce = std::get_if<AllReduce>(&call)) {
        member = {reduce->input, reduce->output};
    } else if (const auto* gather = std::get_if<AllGatherIntoTensor>(&call)) {
        member = {gather->input, gather->output};
    } else if (const auto* scatter = std::get_if<ReduceScatterTensor>(&call)) {
        member = {scatter->input, scatter->output};
    }
    if (member && std::max(member->input.size(), member->output.size()) > longest_member) {
        return std::nullopt;
    }
    return member;
}

// Ops of callers are alone, for ranks cannot see whether each other's are the same.
bool are_alike(const Collective& one, const Collective& other) {
    const Fingerprint a = fingerprint(one);
    const Fingerprint b = fingerprint(other);
    return a.kind == b.kind && a.dtype == b.dtype && a.op == b.op && a.op < TUTTI_PREMUL_SUM;
}

class Merged {
public:
    explicit Merged(int ranks) : ranks_(ranks) {}

    [[nodiscard]] size_t size() const { return members_.size(); }
    [[nodiscard]] bool takes(const Member& member) const {
        return std::max(input_count_ + member.input.count, output_count_ + member.output.count) *
                   static_cast<int64_t>(element_size(member.input.dtype)) <=
               static_cast<int64_t>(longest_merged);
    }
    void add(const Member& member) {
        members_.push_back(member);
        input_count_ += member.input.count;
        output_count_ += member.output.count;
    }

    // The call on memory that has all inputs in it. `like` is one of those that were merged.
    Collective pack(const Collective& like) {
        const tutti_dtype dtype = members_.front().input.dtype;
        const auto view = [&](int64_t count) {
            const size_t bytes = static_cast<size_t>(count) * element_size(dtype);
            auto& room = rooms_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
            return View{room.get(), count, dtype};
        };
        const View input = view(input_count_);
        output_ = std::holds_alternative<AllReduce>(like) ? input : view(output_count_);
        // A part of a part for every member, as the call cuts its input.
        const int parts = std::holds_alternative<ReduceScatterTensor>(like) ? ranks_ : 1;
        each_piece(input, parts, &Member::input, [](const View& whole, const ConstView& piece) {
            copy(whole.bytes(), piece.bytes());
        });
        if (const auto* reduce = std::get_if<AllReduce>(&like)) {
            return AllReduce{input, output_, reduce->op};
        }
        if (const auto* scatter = std::get_if<ReduceScatterTensor>(&like)) {
            return ReduceScatterTensor{input, output_, scatter->op};
        }
        return AllGatherIntoTensor{input, output_};
    }

    void unpack(const Collective& like) const {
        const int parts = std::holds_alternative<AllGatherIntoTensor>(like) ? ranks_ : 1;
        each_piece(output_, parts, &Member::output, [](const View& whole, const View& piece) {
            copy(piece.bytes(), whole.bytes());
        });
    }

private:
    // f(piece of the merged memory, piece of a member) for every rank's part of every member.
    template <typename SomeView, typename Function>
    void each_piece(const View& whole, int parts, SomeView Member::*view, Function&& f) const {
        int64_t at = 0;
        for (int part = 0; part < parts; ++part) {
            for (const Member& member : members_) {
                const int64_t length = (member.*view).count / parts;
                f(whole.part(at, length), (member.*view).part(part * length, length));
                at += length;
            }
        }
    }

    const int ranks_;
    std::vector<Member> members_;
    int64_t input_count_ = 0;
    int64_t output_count_ = 0;
    View output_;
    std::vector<std::unique_ptr<std::byte[]>> rooms_;
};

// How many of the calls from `begin` on are done at once.
Merged merge(std::span<const Collective> calls, int ranks) {
    Merged merged(ranks);
    for (const Collective& call : calls) {
        const auto member = member_of(call);
        if (!member || !are_alike(call, calls.front()) || !merged.takes(*member)) break;
        merged.add(*member);
    }
    return merged;
}

}  // namespace

void run_coalesced(const Coalesced& call, int ranks, const RunOne& run_one) {
    const Fingerprint whole = fingerprint(call);
    uint32_t index = 0;
    for (std::span<const Collective> left = call.calls; !left.empty(); ++index) {
        const Collective& first = left.front();
        Fingerprint print = fingerprint(first);
        print.layout = extend_layout(print.layout, whole.layout);
        Merged merged = merge(left, ranks);
        if (merged.size() < 2) {
            run_one(first, print, {index, whole});
            left = left.subspan(1);
        } else {
            run_one(merged.pack(first), print, {index, whole});
            merged.unpack(first);
            left = left.subspan(merged.size());
        }
    }
}

void run_coalesced(Channel& channel, const Coalesced& call, uint64_t number,
                   const Deadline& deadline) {
    run_coalesced(call, channel.size(),
                  [&](const Collective& one, const Fingerprint& print, const Exchange::Step& step) {
                      Exchange exchange(channel, print, number, deadline, step);
                      run(exchange, one);
                  });
}

}  // namespace tutti::algorithm
