#include "byte_strings.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/error.hpp"

namespace tutti {

namespace {

CallKind kind_of(const ByteStrings& call) {
    switch (call.pattern) {
        case ByteStrings::Pattern::Broadcast:
            return call.objects ? CallKind::BroadcastObjects : CallKind::BroadcastBytes;
        case ByteStrings::Pattern::AllGather:
            return call.objects ? CallKind::AllGatherObjects : CallKind::AllGatherBytes;
        case ByteStrings::Pattern::Gather:
            return call.objects ? CallKind::GatherObjects : CallKind::GatherBytes;
        default:
            return call.objects ? CallKind::ScatterObjects : CallKind::ScatterBytes;
    }
}

}  // namespace

void check(const ByteStrings& call, int rank, int size) {
    const bool gathers = call.pattern == ByteStrings::Pattern::Gather;
    if (call.pattern != ByteStrings::Pattern::AllGather && (call.root < 0 || call.root >= size)) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat(gathers ? "group_dst" : "group_src", " is ", call.root,
                        ", but the group's ranks are 0 to ", size - 1));
    }
    size_t given = 1;
    if (call.pattern == ByteStrings::Pattern::Broadcast) given = rank == call.root ? 1 : 0;
    if (call.pattern == ByteStrings::Pattern::Scatter) {
        given = rank == call.root ? static_cast<size_t>(size) : 0;
    }
    TUTTI_ASSERT(call.inputs.size() == given && call.received);
}

const char* call_name(const ByteStrings& call) {
    return name_of(kind_of(call));
}

Fingerprint fingerprint(const ByteStrings& call) {
    return {kind_of(call), 0, 0, call.root, any_count, 0};
}

void check_size(const ByteStrings& call, uint64_t size, int origin, int rank) {
    if (size <= call.max_bytes) return;
    throw Error(TUTTI_ERR_MISMATCH,
                cat("rank ", origin, " sends ", size, " bytes, and the limit of rank ", rank,
                    " is ", call.max_bytes),
                origin);
}

OwnedBytes own_of(const ByteStrings& call, std::span<const std::byte> byte_string) {
    if (!call.keeps_own) return {};
    OwnedBytes made(byte_string.size());
    std::ranges::copy(byte_string, made.bytes().begin());
    return made;
}

}  // namespace tutti
