// The keys under which tuttiruns talk to each other. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/text.hpp"

namespace tutti::launch::keys {

// How long a call may take that need not wait for others.
constexpr int64_t call_timeout_ms = 5'000;

// Keys of the whole store, for tuttiruns of different jobs: which job meets there, claimed by
// compare_set, and which one was turned away last.
inline const std::string job = "tuttirun.job";
inline const std::string other_job = "tuttirun.other_job";

// The identity of node `rank`; claimed by compare_set.
inline std::string node(int rank) {
    return cat("node/", rank);
}
// Counts up as long as the node lives.
inline std::string pulse(int rank) {
    return cat("pulse/", rank);
}
// The node needs the store no more.
inline std::string left(int rank) {
    return cat("left/", rank);
}
// Keys of one attempt: the port of the workers' store, how the attempt ends, how many nodes' ranks
// have ended, which those are, and what each node has to say of it.
inline std::string port(int attempt) {
    return cat("attempt/", attempt, "/port");
}
inline std::string verdict(int attempt) {
    return cat("attempt/", attempt, "/verdict");
}
inline std::string finished(int attempt) {
    return cat("attempt/", attempt, "/finished");
}
inline std::string finished(int attempt, int node) {
    return cat("attempt/", attempt, "/finished/", node);
}
inline std::string statement(int attempt, int node) {
    return cat("attempt/", attempt, "/statement/", node);
}

}  // namespace tutti::launch::keys
