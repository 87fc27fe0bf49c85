// Point-to-point messages, as data.
#pragma once

#include <variant>

#include "view.hpp"

namespace tutti {

constexpr int any_source = -1;

struct Send {
    ConstView buffer;
    int destination = 0;
    int tag = 0;
};

struct Receive {
    View buffer;
    int source = any_source;
    int tag = 0;
};

// Throw INVALID_ARGUMENT, naming the argument.
void check(const Send& call, int size);
void check(const Receive& call, int size);
inline const char* call_name(const Send&) {
    return "send";
}
inline const char* call_name(const Receive&) {
    return "recv";
}

using Message = std::variant<Send, Receive>;

inline void check(const Message& message, int size) {
    std::visit([size](const auto& one) { check(one, size); }, message);
}
inline const char* call_name(const Message& message) {
    return std::visit([](const auto& one) { return call_name(one); }, message);
}

}  // namespace tutti
