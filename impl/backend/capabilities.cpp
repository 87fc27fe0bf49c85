#include "capabilities.hpp"

#include <vector>

#include "base/text.hpp"
#include "reduce/reduce.hpp"

namespace tutti {

namespace {

using Kind = FlatCall::Kind;

enum class Data { None, Elements, Reduced };

Data data_of(Kind kind) {
    switch (kind) {
        case Kind::Barrier:
        case Kind::ByteStrings:
        case Kind::Alloc:
        case Kind::Coalesced:
            return Data::None;
        case Kind::Broadcast:
        case Kind::AllGather:
        case Kind::Gather:
        case Kind::Scatter:
        case Kind::AllToAll:
            return Data::Elements;
        case Kind::AllReduce:
        case Kind::Reduce:
        case Kind::ReduceScatter:
        case Kind::AllReduceAddends:
            return Data::Reduced;
    }
    return Data::None;
}

bool can_reduce(const Capabilities& can, tutti_dtype dtype, const ReduceOp& op) {
    if (op.user_function() != nullptr) return can.user_functions;
    return can.ops.has(dtype, op.fingerprint());  // for a factor's, TUTTI_PREMUL_SUM
}

// Whether there is such a reduction at all.
bool is_one(tutti_dtype dtype, tutti_reduce_op op) {
    if (op == TUTTI_PREMUL_SUM) return dtype != TUTTI_BOOL;
    return !why_not_reducible(dtype, op);
}

// Gives "BXOR_of_int8" for an op that works with some dtypes, "BXOR" for one that works with none.
std::vector<std::string> lacking_reductions(const Capabilities& can, tutti_reduce_op op) {
    std::vector<std::string> lacking;
    bool has_any = false;
    for (tutti_dtype dtype = 0; dtype <= TUTTI_BOOL; ++dtype) {
        if (!is_one(dtype, op) || !can.dtypes.has(dtype)) continue;
        if (can.ops.has(dtype, op)) {
            has_any = true;
        } else {
            lacking.push_back(cat(describe_op(op), "_of_", dtype_name(dtype)));
        }
    }
    if (!has_any && !lacking.empty()) return {describe_op(op)};
    return lacking;
}

class Words {
public:
    void add_if(bool condition, const std::string& word) {
        if (condition) text_ += cat(text_.empty() ? "" : ",", word);
    }
    [[nodiscard]] std::string text() const { return text_.empty() ? "nothing" : text_; }

private:
    std::string text_;
};

// The least number of contributions whose order shows in the result.
constexpr size_t several = 3;

}  // namespace

std::string beyond(const Capabilities& can, const FlatCall& call) {
    const Fingerprint& print = call.fingerprint;
    const char* const name = name_of(print.kind);
    if (!can.kinds.has(print.kind)) return name;
    const Data data = data_of(call.kind);
    if (data != Data::None && !can.dtypes.has(print.dtype)) {
        return cat(name, " of ", dtype_name(print.dtype));
    }
    if (data == Data::Reduced) {
        if (!can_reduce(can, print.dtype, call.op)) {
            const std::string op = describe_op(print.op);
            const auto lacking = lacking_reductions(can, print.op);
            const bool is_of_all = lacking.empty() || lacking.front() == op;
            return cat(name, is_of_all ? "" : cat(" of ", dtype_name(print.dtype)), " with ", op);
        }
        if (!can.reproducible && call.op.is_reproducible() &&
            must_combine_at_once(print.dtype, call.op, several)) {
            return cat("reproducible ", name, " of ", dtype_name(print.dtype), " with ",
                       describe_op(print.op));
        }
    }
    for (const FlatCall& one : call.calls) {
        if (std::string what = beyond(can, one); !what.empty()) return what;
    }
    return {};
}

std::string lacks_of(const Capabilities& can) {
    constexpr Capabilities everything{};
    Words words;
    for (uint32_t kind = 0; kind < 64; ++kind) {
        const bool is_one = every_kind.has(kind);
        words.add_if(is_one && !can.kinds.has(kind), name_of(static_cast<CallKind>(kind)));
    }
    for (tutti_dtype dtype = 0; dtype <= TUTTI_BOOL; ++dtype) {
        words.add_if(!can.dtypes.has(dtype), dtype_name(dtype));
    }
    for (uint32_t op = 0; op <= TUTTI_PREMUL_SUM; ++op) {
        for (const std::string& word : lacking_reductions(can, op)) words.add_if(true, word);
    }
    words.add_if(!can.user_functions, "functions");
    words.add_if(!can.reproducible, "reproducible");
    words.add_if(!can.messages, "messages");
    words.add_if(can.messages && !can.byte_messages, "byte_messages");
    words.add_if(can.messages && !can.tags, "tags");
    words.add_if(can.memory, "+memory");
    for (uint32_t type = 0; type < 64; ++type) {
        const bool is_here = can.devices.has(type);
        if (is_here == everything.devices.has(type)) continue;
        words.add_if(true, cat(is_here ? "+" : "", "device_", type));
    }
    return words.text();
}

}  // namespace tutti
