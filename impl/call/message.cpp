// The names of messages, and their content as text. Any thread.
#include "message.hpp"

#include "base/text.hpp"
#include "reduce/reduce.hpp"

namespace tutti {

const char* call_name(const Send& call) {
    switch (call.content) {
        case Content::Objects:
            return "send_object_list";
        case Content::ByteString:
            return "send_bytes";
        default:
            return "send";
    }
}

const char* call_name(const Receive& call) {
    switch (call.content) {
        case Content::Objects:
            return "recv_object_list";
        case Content::ByteString:
            return "recv_bytes";
        default:
            return "recv";
    }
}

std::string summary(const Send& call) {
    const bool has_elements = call.content == Content::Elements;
    return cat(call_name(call), " ", call.buffer.count, " ",
               has_elements ? dtype_name(call.buffer.dtype) : "bytes", " to rank ",
               call.destination);
}

std::string summary(const Receive& call) {
    const std::string source = call.source == any_source ? "any rank" : cat("rank ", call.source);
    if (call.content != Content::Elements) return cat(call_name(call), " from ", source);
    return cat(call_name(call), " ", call.buffer.count, " ", dtype_name(call.buffer.dtype),
               " from ", source);
}

std::string describe_message(Content content, int64_t count, tutti_dtype dtype) {
    switch (content) {
        case Content::Elements:
            return cat(dtype_name(dtype), " × ", count);
        case Content::Objects:
            return cat("objects (", count, " bytes)");
        case Content::ByteString:
            return cat("bytes (", count, ")");
    }
    return cat("of an unknown kind (", static_cast<uint32_t>(content), ")");
}

}  // namespace tutti
