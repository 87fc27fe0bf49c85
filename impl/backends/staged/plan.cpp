#include "plan.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/assert.hpp"

namespace tutti::staged {

namespace {

using Kind = FlatCall::Kind;

// The size of a stage's pieces together: long enough for the copies to be fast, short enough for
// several stages to be under way.
constexpr size_t stage_target = size_t{4} << 20;
constexpr size_t alignment = 64;
// For calls whose ranks differ in the number of their inputs.
constexpr size_t addends_column = size_t{256} << 10;

size_t aligned(size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
}

// The same on all ranks.
size_t column_of(Kind kind, int ranks) {
    const auto count = static_cast<size_t>(ranks);
    size_t pieces = 1;
    switch (kind) {
        case Kind::AllGather:
        case Kind::Gather:
        case Kind::Scatter:
        case Kind::ReduceScatter:
            pieces = count + 1;
            break;
        case Kind::AllToAll:
            pieces = 2 * count;
            break;
        case Kind::AllReduceAddends:
            return addends_column;
        default:
            break;
    }
    return std::max(alignment, stage_target / pieces / alignment * alignment);
}

template <typename Byte>
size_t longest(const Pieces<Byte>& pieces) {
    size_t most = 0;
    for (const auto& piece : pieces) most = std::max(most, piece.size());
    return most;
}

FlatCall without_pieces(const FlatCall& call) {
    FlatCall host;
    host.kind = call.kind;
    host.sizes = call.sizes;
    host.in_place = call.in_place;
    host.dtype = call.dtype;
    host.root = call.root;
    host.op = call.op;
    host.fingerprint = call.fingerprint;
    return host;
}

// The copies of a list of pieces. Those of one tensor that follow each other on both sides become
// one; others may be neighbours by chance, and no copy may reach from one allocation into another.
class Copies {
public:
    Copies(std::vector<Copy>& all, const FlatCall& call)
        : all_(all),
          is_tensor_(call.sizes == FlatCall::Sizes::Even && call.kind != Kind::AllReduceAddends) {}

    void add(std::byte* device, std::byte* host, size_t bytes) {
        if (bytes == 0) return;
        if (is_tensor_ && has_any_) {
            Copy& last = all_.back();
            if (last.device + last.bytes == device && last.host + last.bytes == host) {
                last.bytes += bytes;
                return;
            }
        }
        all_.push_back({device, host, bytes});
        has_any_ = true;
    }

private:
    std::vector<Copy>& all_;
    const bool is_tensor_;
    bool has_any_ = false;
};

std::byte* writable(const std::byte* memory) {  // only copied from
    return const_cast<std::byte*>(memory);
}

}  // namespace

// One stage of a call that is cut.
class Plan::Builder {
public:
    Builder(const Plan& plan, size_t index) : plan_(plan), begin_(index * plan.column_) {}

    // The memory that the stage needs.
    [[nodiscard]] size_t bytes() const {
        size_t sum = 0;
        size_t index = 0;
        for (const Bytes output : plan_.call_.outputs) sum += room(column(output).size());
        for (const ConstBytes input : plan_.call_.inputs) {
            const size_t size = column(input).size();
            if (!shared_output(index++, size)) sum += room(size);
        }
        return sum;
    }

    void build(Stage& stage, std::byte* host) const {
        const FlatCall& call = plan_.call_;
        std::byte* next = host;
        const auto place = [&](size_t size) {  // parts of one tensor follow each other without gaps
            return Bytes{std::exchange(next, next + room(size)), size};
        };
        stage.call = without_pieces(call);
        Copies out(stage.out, call);
        Copies in(stage.in, call);
        for (const Bytes output : call.outputs) {
            const Bytes part = column(output);
            const Bytes here = place(part.size());
            stage.call.outputs.add(here);
            out.add(part.data(), here.data(), part.size());
        }
        stage.call.inputs.reserve(call.inputs.size());
        size_t index = 0;
        for (const ConstBytes input : call.inputs) {
            const ConstBytes part = column(input);
            const auto shared = shared_output(index++, part.size());
            const Bytes here = shared ? stage.call.outputs[*shared] : place(part.size());
            stage.call.inputs.add(here);
            in.add(writable(part.data()), here.data(), part.size());
        }
    }

private:
    template <typename Byte>
    [[nodiscard]] std::span<Byte> column(std::span<Byte> piece) const {
        const size_t begin = std::min(begin_, piece.size());
        return piece.subspan(begin, std::min(plan_.column_, piece.size() - begin));
    }
    [[nodiscard]] size_t room(size_t bytes) const {
        return plan_.call_.sizes == FlatCall::Sizes::Even ? bytes : aligned(bytes);
    }
    // The output that takes the place of that input in the memory of the CPU, which needs less of
    // it.
    [[nodiscard]] std::optional<size_t> shared_output(size_t input, size_t bytes) const {
        const FlatCall& call = plan_.call_;
        size_t output = 0;
        switch (call.kind) {
            case Kind::AllReduce:
            case Kind::Reduce:
                break;
            case Kind::AllGather:
            case Kind::Gather:
                output = static_cast<size_t>(plan_.rank_);
                break;
            case Kind::AllToAll:
                if (!call.in_place) return std::nullopt;
                output = input;
                break;
            default:
                return std::nullopt;
        }
        if (bytes == 0 || output >= call.outputs.size()) return std::nullopt;
        return column(call.outputs[output]).size() == bytes ? std::optional(output) : std::nullopt;
    }

    const Plan& plan_;
    const size_t begin_;
};

bool Plan::is_cut(const FlatCall& call) {
    return call.kind != Kind::Coalesced && call.sizes != FlatCall::Sizes::Pairwise;
}

Plan::Plan(const FlatCall& call, int rank, int ranks) : call_(call), rank_(rank) {
    if (!is_cut(call)) {
        find_extents(call);
        place_extents();
        return;
    }
    column_ = column_of(call.kind, ranks);
    const size_t most = std::max(longest(call.inputs), longest(call.outputs));
    stages_ = std::max<size_t>(1, (most + column_ - 1) / column_);
    stage_bytes_ = Builder(*this, 0).bytes();  // no other needs more
}

Stage Plan::stage(size_t index, std::byte* host) const {
    Stage stage;
    if (column_ > 0) {
        Builder(*this, index).build(stage, host);
        return stage;
    }
    stage.call = without_pieces(call_);
    map_whole(call_, host, stage, stage.call);
    return stage;
}

void Plan::find_extents(const FlatCall& call) {
    const auto add = [this](const std::byte* begin, size_t bytes) {
        if (bytes > 0) extents_.push_back({writable(begin), writable(begin) + bytes, 0});
    };
    for (const ConstBytes input : call.inputs) add(input.data(), input.size());
    for (const Bytes output : call.outputs) add(output.data(), output.size());
    for (const FlatCall& one : call.calls) find_extents(one);
}

// Extents that overlap or touch become one, so that memory which is the same, or adjoins, stays so.
void Plan::place_extents() {
    std::ranges::sort(extents_, {}, &Extent::begin);
    std::vector<Extent> merged;
    for (const Extent& extent : extents_) {
        if (!merged.empty() && extent.begin <= merged.back().end) {
            merged.back().end = std::max(merged.back().end, extent.end);
        } else {
            merged.push_back(extent);
        }
    }
    for (Extent& extent : merged) {
        // Elements lie as they do on the device, relative to a cache line.
        stage_bytes_ += reinterpret_cast<uintptr_t>(extent.begin) % alignment;
        extent.offset = stage_bytes_;
        stage_bytes_ = aligned(stage_bytes_ + static_cast<size_t>(extent.end - extent.begin));
    }
    extents_ = std::move(merged);
}

std::byte* Plan::place_of(const std::byte* device, std::byte* host) const {
    const auto after = std::ranges::upper_bound(extents_, device, {}, &Extent::begin);
    TUTTI_ASSERT(after != extents_.begin());
    const Extent& extent = *std::prev(after);
    return host + extent.offset + (device - extent.begin);
}

void Plan::map_whole(const FlatCall& call, std::byte* host, Stage& stage, FlatCall& mapped) const {
    Copies in(stage.in, call);
    Copies out(stage.out, call);
    mapped.inputs.reserve(call.inputs.size());
    for (const ConstBytes input : call.inputs) {
        std::byte* const place = input.empty() ? host : place_of(input.data(), host);
        mapped.inputs.add({place, input.size()});
        in.add(writable(input.data()), place, input.size());
    }
    mapped.outputs.reserve(call.outputs.size());
    for (const Bytes output : call.outputs) {
        std::byte* const place = output.empty() ? host : place_of(output.data(), host);
        mapped.outputs.add({place, output.size()});
        out.add(output.data(), place, output.size());
    }
    mapped.calls.reserve(call.calls.size());
    for (const FlatCall& one : call.calls) {
        FlatCall& host_call = mapped.calls.emplace_back(without_pieces(one));
        map_whole(one, host, stage, host_call);
    }
}

}  // namespace tutti::staged
