// Every call a group can make, as data. Adding a collective adds a file beside this one and a line
// here; a backend that forgot it does not compile.
#pragma once

#include <string>
#include <variant>

#include "all_reduce.hpp"
#include "barrier.hpp"
#include "broadcast.hpp"
#include "message.hpp"

namespace tutti {

using Collective = std::variant<Broadcast, AllReduce, Barrier>;

inline void check(const Collective& call, int size) {
    std::visit([size](const auto& one) { check(one, size); }, call);
}
inline const char* call_name(const Collective& call) {
    return std::visit([](const auto& one) { return call_name(one); }, call);
}
inline Fingerprint fingerprint(const Collective& call) {
    return std::visit([](const auto& one) { return fingerprint(one); }, call);
}

}  // namespace tutti
