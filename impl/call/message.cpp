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
