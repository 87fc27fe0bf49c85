// Frames that a rank has sent to the coordinator and may have to send to the next one: its groups,
// departures, failures, unfinished steps and decisions; also outcomes that it has heard of, and
// others may have missed. Plain data, one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "protocol.hpp"

namespace tutti::membership {

class ReplayLog {
public:
    // A frame that this rank sends.
    void sent(const std::string& frame);
    // The end of a step. The outcome is kept: the coordinator may have died before all others got
    // it.
    void received(const StepCompleted& outcome);
    void received(const StepFailed& outcome) { steps_.erase({outcome.group, outcome.key}); }
    void received(const Decision& decision);
    // All of it, in a valid order.
    [[nodiscard]] std::vector<std::string> frames() const;

private:
    void leave(uint32_t group_id, const std::string& bye);
    void keep_outcome(std::string frame);

    struct Group {
        std::string open;
        Failure reported;  // or none
        std::string bye;
    };
    std::map<uint32_t, Group> groups_;
    std::deque<uint32_t> left_;  // latest at the end; the oldest are forgotten
    std::map<std::pair<uint32_t, std::string>, std::vector<std::string>> steps_;
    std::vector<std::string> suspicions_;
    std::deque<std::string> outcomes_;  // of recent steps and decisions
};

}  // namespace tutti::membership
