// What a rank has told the coordinator and may have to tell the next one: which groups it is in and
// has left, what failed, to which steps it has come that have not ended. Plain data, one thread at
// a time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "protocol.hpp"

namespace tutti::membership {

class Unsettled {
public:
    // A frame that this rank says.
    void said(const std::string& frame);
    // What it hears at the end of a step. How it came out, others may not have heard: the
    // coordinator may have gone among them.
    void heard(const Gathered& outcome);
    void heard(const Failed& outcome) { steps_.erase({outcome.group, outcome.key}); }
    // All of it, in an order in which it can be said again.
    [[nodiscard]] std::vector<std::string> frames() const;

private:
    void leave(uint32_t number, const std::string& bye);

    struct Group {
        std::string open;
        std::string report;
        std::string bye;
    };
    std::map<uint32_t, Group> groups_;
    std::deque<uint32_t> left_;  // of them, the latest at the end: others need not know by now
    std::map<std::pair<uint32_t, std::string>, std::vector<std::string>> steps_;
    std::vector<std::string> suspicions_;
    std::deque<std::string> outcomes_;  // of the last steps
};

}  // namespace tutti::membership
