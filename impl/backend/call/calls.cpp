// What calls check before anything moves, and how they read in messages.
#include "backend/call/call.hpp"
#include "base/error.hpp"
#include "reduce/reduce.hpp"

namespace tutti {

namespace {

void check_rank(int rank, int size, const char* argument) {
    if (rank < 0 || rank >= size) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat(argument, " is ", rank, ", but the group's ranks are 0 to ", size - 1));
    }
}

void check_tag(int tag) {
    if (tag < 0) throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat("tag is ", tag, ", below 0"));
}

}  // namespace

void check(const Broadcast& call, int size) {
    check_rank(call.source, size, "group_src");
}

void check(const AllReduce& call, int /*size*/) {
    if (call.input.count != call.output.count || call.input.dtype != call.output.dtype) {
        throw Error(
            TUTTI_ERR_INVALID_ARGUMENT,
            cat("input has ", call.input.count, " elements of ", dtype_name(call.input.dtype),
                ", output ", call.output.count, " of ", dtype_name(call.output.dtype)));
    }
    if (const auto reason = why_not_reducible(call.output.dtype, call.op)) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT, *reason);
    }
}

void check(const Send& call, int size) {
    check_rank(call.destination, size, "group_dst");
    check_tag(call.tag);
}

void check(const Receive& call, int size) {
    if (call.source != any_source) check_rank(call.source, size, "group_src");
    check_tag(call.tag);
}

std::string describe(const Fingerprint& fingerprint, uint64_t number) {
    const auto elements = [&] {
        return cat(dtype_name(fingerprint.dtype), " × ", fingerprint.count);
    };
    switch (fingerprint.kind) {
        case CallKind::Broadcast:
            return cat("broadcast #", number, " (", elements(), ", root ", fingerprint.root, ")");
        case CallKind::AllReduce:
            return cat("all_reduce #", number, " (", elements(), ", ",
                       reduce_op_name(fingerprint.op), ")");
        case CallKind::Barrier:
            return cat("barrier #", number);
    }
    return cat("unknown operation ", static_cast<uint32_t>(fingerprint.kind), " #", number);
}

}  // namespace tutti
