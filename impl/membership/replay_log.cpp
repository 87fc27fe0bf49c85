#include "replay_log.hpp"

#include <span>

namespace tutti::membership {

namespace {

constexpr size_t max_left = 256;  // groups whose end may be sent again
constexpr size_t max_outcomes = 16;
constexpr size_t max_outcome = 256 * 1024;

}  // namespace

void ReplayLog::sent(const std::string& bytes) {
    FrameReader().feed(std::as_bytes(std::span(bytes)), [&](const Frame& frame) {
        switch (frame.kind) {
            case Kind::Open:
                groups_[decode_ranks(frame).group].open = bytes;
                break;
            case Kind::Bye:
                leave(decode_ranks(frame).group, bytes);
                break;
            case Kind::Report: {
                // The one that ends the earliest calls.
                const auto [group_id, failure] = decode_failure(frame);
                Failure& kept = groups_[group_id].reported;
                if (kept.ok() || failure.first_call < kept.first_call) kept = failure;
                break;
            }
            case Kind::Suspect:
                suspicions_.push_back(bytes);
                break;
            case Kind::Arrive: {
                const StepArrival arrival = decode_arrival(frame);
                steps_[{arrival.group, arrival.key}] = {bytes};
                break;
            }
            case Kind::Propose: {
                const Proposal proposal = decode_proposal(frame);
                steps_[{proposal.group, proposal.key}] = {bytes};
                break;
            }
            case Kind::GiveUp: {
                const GiveUp give_up = decode_give_up(frame);
                const auto step = steps_.find({give_up.group, give_up.key});
                if (step != steps_.end()) step->second.push_back(bytes);
                break;
            }
            default:
                break;
        }
        return true;
    });
}

void ReplayLog::received(const StepCompleted& outcome) {
    steps_.erase({outcome.group, outcome.key});
    std::string frame = encode(outcome);
    if (frame.size() <= max_outcome) keep_outcome(std::move(frame));
}

void ReplayLog::received(const Decision& decision) {
    steps_.erase({decision.group, decision.key});
    keep_outcome(encode(decision));
}

void ReplayLog::keep_outcome(std::string frame) {
    outcomes_.push_back(std::move(frame));
    if (outcomes_.size() > max_outcomes) outcomes_.pop_front();
}

void ReplayLog::leave(uint32_t group_id, const std::string& bye) {
    groups_[group_id].bye = bye;
    left_.push_back(group_id);
    if (left_.size() <= max_left) return;
    groups_.erase(left_.front());
    left_.pop_front();
}

std::vector<std::string> ReplayLog::frames() const {
    std::vector<std::string> all;
    const auto add = [&](const std::string& frame) {
        if (!frame.empty()) all.push_back(frame);
    };
    for (const auto& [group_id, group] : groups_) {
        add(group.open);
        if (!group.reported.ok()) add(encode(Kind::Report, group_id, group.reported));
        add(group.bye);
    }
    for (const std::string& suspicion : suspicions_) add(suspicion);
    for (const std::string& outcome : outcomes_) add(outcome);
    for (const auto& [name, step] : steps_) {
        for (const std::string& frame : step) add(frame);
    }
    return all;
}

}  // namespace tutti::membership
