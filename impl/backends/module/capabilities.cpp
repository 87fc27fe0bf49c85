#include "capabilities.hpp"

namespace tutti::ext {

namespace {

static_assert(TUTTI_CALL_BROADCAST == static_cast<uint32_t>(CallKind::Broadcast) &&
              TUTTI_CALL_ALL_REDUCE == static_cast<uint32_t>(CallKind::AllReduce) &&
              TUTTI_CALL_BARRIER == static_cast<uint32_t>(CallKind::Barrier) &&
              TUTTI_CALL_REDUCE == static_cast<uint32_t>(CallKind::Reduce) &&
              TUTTI_CALL_ALL_GATHER == static_cast<uint32_t>(CallKind::AllGather) &&
              TUTTI_CALL_ALL_GATHER_INTO_TENSOR ==
                  static_cast<uint32_t>(CallKind::AllGatherIntoTensor) &&
              TUTTI_CALL_GATHER == static_cast<uint32_t>(CallKind::Gather) &&
              TUTTI_CALL_SCATTER == static_cast<uint32_t>(CallKind::Scatter) &&
              TUTTI_CALL_REDUCE_SCATTER == static_cast<uint32_t>(CallKind::ReduceScatter) &&
              TUTTI_CALL_REDUCE_SCATTER_TENSOR ==
                  static_cast<uint32_t>(CallKind::ReduceScatterTensor) &&
              TUTTI_CALL_ALL_TO_ALL == static_cast<uint32_t>(CallKind::AllToAll) &&
              TUTTI_CALL_ALL_TO_ALL_SINGLE == static_cast<uint32_t>(CallKind::AllToAllSingle) &&
              TUTTI_CALL_COALESCED == static_cast<uint32_t>(CallKind::Coalesced));

// The calls that a table can name. A monitored barrier is the group's own.
constexpr uint64_t collectives =
    TUTTI_BIT(TUTTI_CALL_BROADCAST) | TUTTI_BIT(TUTTI_CALL_ALL_REDUCE) |
    TUTTI_BIT(TUTTI_CALL_BARRIER) | TUTTI_BIT(TUTTI_CALL_REDUCE) |
    TUTTI_BIT(TUTTI_CALL_ALL_GATHER) | TUTTI_BIT(TUTTI_CALL_ALL_GATHER_INTO_TENSOR) |
    TUTTI_BIT(TUTTI_CALL_GATHER) | TUTTI_BIT(TUTTI_CALL_SCATTER) |
    TUTTI_BIT(TUTTI_CALL_REDUCE_SCATTER) | TUTTI_BIT(TUTTI_CALL_REDUCE_SCATTER_TENSOR) |
    TUTTI_BIT(TUTTI_CALL_ALL_TO_ALL) | TUTTI_BIT(TUTTI_CALL_ALL_TO_ALL_SINGLE) |
    TUTTI_BIT(TUTTI_CALL_COALESCED);
constexpr uint64_t messages = TUTTI_BIT(TUTTI_CALL_SEND) | TUTTI_BIT(TUTTI_CALL_RECEIVE);

Completion read_completion(tutti_completion completion, const tutti_backend_table& table,
                           const std::string& owner) {
    switch (completion) {
        case TUTTI_COMPLETION_INLINE:
            return Completion::Inline;
        case TUTTI_COMPLETION_CALLBACK:
            return Completion::Callback;
        case TUTTI_COMPLETION_POLLED:
            if (table.test != nullptr) return Completion::Polled;
            throw Error(TUTTI_ERR_UNSUPPORTED, owner + "it is to be polled, and test is NULL");
        case TUTTI_COMPLETION_STREAM:
            return Completion::Stream;
        default:
            throw Error(TUTTI_ERR_UNSUPPORTED, cat(owner, "its completion is ", completion,
                                                   ", which is none that this library knows"));
    }
}

void check(const tutti_backend_capabilities& said, const tutti_backend_table& table,
           const std::string& owner) {
    const bool sends = (said.kinds & messages) == messages;
    if (!sends && (said.kinds & messages) != 0) {
        throw Error(TUTTI_ERR_UNSUPPORTED, owner + "it has only one of SEND and RECEIVE");
    }
    const bool is_polled = said.completion == TUTTI_COMPLETION_INLINE &&
                           (said.flags & TUTTI_BACKEND_CALLBACK_MESSAGES) == 0;
    if (sends && is_polled && table.test == nullptr) {
        throw Error(TUTTI_ERR_UNSUPPORTED,
                    owner + "it has messages, its completion is inline, and test is NULL");
    }
    if (said.completion == TUTTI_COMPLETION_STREAM && (said.devices & TUTTI_BIT(TUTTI_CPU)) != 0) {
        throw Error(TUTTI_ERR_UNSUPPORTED,
                    owner + "it completes on streams, and serves the CPU, which has none");
    }
    if (said.devices == 0) throw Error(TUTTI_ERR_UNSUPPORTED, owner + "it serves no device");
}

}  // namespace

Capabilities describe(const tutti_backend_table& table, const std::string& settings) {
    tutti_backend_capabilities said{};
    said.struct_size = sizeof said;
    call("", table.describe, table.user, settings.c_str(), &said);
    const std::string owner = cat("backend \"", table.name, "\" is of no use: ");
    check(said, table, owner);
    Capabilities can;
    can.completion = read_completion(said.completion, table, owner);
    can.devices = NumberSet(said.devices);
    can.callback_messages =
        can.completion == Completion::Inline && (said.flags & TUTTI_BACKEND_CALLBACK_MESSAGES) != 0;
    can.foreign_peers = (said.flags & TUTTI_BACKEND_FOREIGN_PEERS) != 0;
    can.kinds = NumberSet(said.kinds & collectives);
    can.dtypes = NumberSet(said.dtypes);
    for (tutti_dtype dtype = 0; dtype <= TUTTI_BOOL; ++dtype) {
        can.ops.set(dtype, NumberSet(said.ops[dtype]));
    }
    can.user_functions = (said.flags & TUTTI_BACKEND_USER_FUNCTIONS) != 0;
    can.reproducible = (said.flags & TUTTI_BACKEND_REPRODUCIBLE) != 0;
    can.messages = (said.kinds & messages) != 0;
    can.high_priority = (said.flags & TUTTI_BACKEND_HIGH_PRIORITY) != 0;
    can.memory = table.alloc_memory != nullptr;
    can.byte_messages = false;
    can.tags = (said.flags & TUTTI_BACKEND_PLAIN_MESSAGES) == 0;
    return can;
}

}  // namespace tutti::ext
