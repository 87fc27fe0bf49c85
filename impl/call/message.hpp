// Point-to-point messages, as data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "base/block.hpp"
#include "base/status.hpp"
#include "view.hpp"

namespace tutti {

namespace device {
class Event;
}

constexpr int any_source = -1;

// The content of a message; both sides must agree. Wire values, never renumbered.
enum class Content : uint32_t {
    Elements = 0,   // as many and of the same dtype as the receiver wants
    Objects = 1,    // bytes, however many up to the receiver's limit: a list of objects
    ByteString = 2  // likewise, as they are
};

// The data of a receive that did not know the size; written when all is there.
struct Incoming {
    OwnedBytes bytes;
    int source = -1;
};

struct Send {
    ConstView buffer;  // uint8 for all but Elements
    int destination = 0;
    int tag = 0;
    Content content = Content::Elements;
    std::shared_ptr<const void> memory{};  // of the buffer, if it is not the caller's
    std::string_view tag_name{};           // what the program calls it; only while it is started
    // As in FlatCall.
    void* stream = nullptr;
    std::shared_ptr<const device::Event> begun{};
};

struct Receive {
    View buffer;  // of Elements
    int source = any_source;
    int tag = 0;
    Content content = Content::Elements;
    size_t max_bytes = 0;                  // of all else
    std::shared_ptr<Incoming> incoming{};  // likewise
    std::string_view tag_name{};           // what the program calls it; only while it is started
    // As in FlatCall.
    void* stream = nullptr;
    std::shared_ptr<const device::Event> begun{};
};

// Throw INVALID_ARGUMENT, naming the argument.
void check(const Send& call, int size);
void check(const Receive& call, int size);
const char* call_name(const Send& call);
const char* call_name(const Receive& call);
// "send 100 float32 to rank 3": the message in short.
std::string summary(const Send& call);
std::string summary(const Receive& call);

// "float32 × 100", "objects (120 bytes)"; any numbers, as they came.
std::string describe_message(Content content, int64_t count, tutti_dtype dtype);

using Message = std::variant<Send, Receive>;

// How several messages ended: the first one that failed, and why. OK: none did.
struct BatchEnd {
    size_t first_failed = 0;
    Status status;
};

inline void check(const Message& message, int size) {
    std::visit([size](const auto& one) { check(one, size); }, message);
}
inline const char* call_name(const Message& message) {
    return std::visit([](const auto& one) { return call_name(one); }, message);
}

}  // namespace tutti
