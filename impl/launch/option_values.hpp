// The values of options that are more than a number or a word. Any thread, no side effects. `what`
// is the option, or the variable it came from, and is named in the INVALID_ARGUMENT of a malformed
// one.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "net/address.hpp"

namespace tutti::launch {

// How nodes find their ranks: each was told its own, or takes one as it arrives.
enum class Backend { Static, Arrival };

// The processors that a rank is bound to: cores of its own, those of a NUMA node, or all.
enum class BindTo { Core, Numa, None };

// The consequence of a rank's failure: the others are ended and all start again, up to
// --max-restarts times; the others go on; the others are ended, and so is the job.
enum class OnFailure { Restart, Shrink, Kill };

// Bits of a stream choice.
constexpr int standard_output = 1;
constexpr int standard_error = 2;

// Some streams of some ranks of a node.
struct StreamChoice {
    int everyone = 0;
    std::map<int, int> ranks = {};  // local rank to bits

    [[nodiscard]] bool has(int local_rank, int stream) const;
    [[nodiscard]] bool empty() const;
};

// How long nodes wait for each other.
struct RendezvousTimes {
    int64_t join_ms = 600'000;  // until all have come
    int64_t pulse_ms = 5'000;   // between two signs of life
    int64_t missed_pulses = 3;  // so many, and a node is lost

    [[nodiscard]] int64_t lost_ms() const { return pulse_ms * missed_pulses; }
};

// "2", or "2:2" as torchrun writes a range of sizes.
int parse_nodes(const std::string& text, const std::string& what);
// HOST, HOST:PORT, [IPv6]:PORT or a bare IPv6 address.
net::Endpoint parse_endpoint(const std::string& text, const std::string& what, int default_port);
Backend parse_backend(const std::string& text, const std::string& what);
BindTo parse_bind_to(const std::string& text, const std::string& what);
OnFailure parse_on_failure(const std::string& text, const std::string& what);
// "key=value,key=value": changes what it names.
void parse_times(const std::string& text, const std::string& what, RendezvousTimes& times);
// "3" for every rank, or "0:1,1:3".
StreamChoice parse_streams(const std::string& text, const std::string& what);
std::set<int> parse_ranks(const std::string& text, const std::string& what);
// "SIGTERM,INT": names with or without SIG.
std::vector<int> parse_signals(const std::string& text, const std::string& what);

}  // namespace tutti::launch
