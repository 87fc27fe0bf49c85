// The backend of a group, made from that of the group whose ranks it has. The caller's thread, on
// all ranks of the group that is split.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend_place.hpp"
#include "base/deadline.hpp"
#include "membership/membership.hpp"

namespace tutti {

// Steps of all ranks of a group, in their order. The failure of one rank ends the next step of all.
class SplitSteps {
public:
    SplitSteps(Membership& group, std::string key, const Deadline& deadline)
        : group_(group), key_(std::move(key)), deadline_(deadline) {}
    // All ranks' strings.
    std::vector<std::string> all_gather(const std::string& mine);
    // The last step. Throws if ranks differ.
    void end(bool has_split);
    // This rank has failed, and takes no further step. Not needed after a step that failed.
    void refuse(const Status& why) noexcept;
    [[nodiscard]] const Deadline& deadline() const { return deadline_; }

private:
    std::vector<std::string> step(char kind, const std::string& mine);
    [[nodiscard]] std::string next_key() const { return key_ + "/" + std::to_string(taken_); }

    Membership& group_;
    const std::string key_;
    const Deadline deadline_;
    int taken_ = 0;
    bool has_failed_ = false;  // a step, so on all ranks
};

struct BackendSplit {
    int color;                          // which of the new groups this rank is in; -1: none
    std::optional<BackendPlace> place;  // in that one
    std::string settings;               // of its name; the place gets them
    SplitSteps& steps;
};

// What all ranks of the group of `backend` call: makes the one of a new group, or, where this rank
// is in none, helps to. False: the new groups are to open it. Throws on all ranks if it fails on
// one.
bool split_backend(Backend& backend, BackendSplit how, std::unique_ptr<Backend>& made);

}  // namespace tutti
