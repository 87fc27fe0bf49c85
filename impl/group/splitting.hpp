// Groups of a group's ranks: the ranks agree about the new groups, and each opens the parts of its
// own. The caller's thread; one at a time, in the same order on all ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agreement.hpp"
#include "base/mutex.hpp"
#include "call/view.hpp"
#include "core.hpp"

namespace tutti {

// How to make groups of a group's ranks. All participating ranks give the same, but for timeout,
// description and device.
struct SplitOptions {
    std::string function;                     // for messages: "new_group"
    std::vector<std::vector<int>> parts;      // ranks of each new group, in its order; none in two
    std::optional<std::vector<int>> callers;  // participants, ascending; nothing: all ranks
    std::string backend;                      // "": that of the group
    std::string description;                  // "": the group's name and a number
    int64_t timeout_ms = 0;                   // 0: the group's
    std::optional<bool> reproducible{};       // nothing: as the group
    Device bound{};                           // the CPU: as the group
    std::vector<std::string> arguments;       // phrases that must be the same, beside the parts
};

class Splitting {
public:
    explicit Splitting(GroupCore& parent) : parent_(parent) {}

    // Those of the new group that this rank is in, if any. A failure leaves the parent as it was.
    std::optional<GroupParts> split(const SplitOptions& options);
    // See Group.
    std::string compare(const SplitOptions& options);
    void decline(const SplitOptions& options, const Status& why) noexcept;
    void give_up(const SplitOptions& options, const Status& why) noexcept;

private:
    class Call;
    void tell_others(const SplitOptions& options, const Status& why,
                     decltype(tutti::decline)& tell) noexcept;
    std::string next_step(const SplitOptions& options);
    // foreign_peers.cpp
    std::optional<GroupParts> split_among_foreign_peers(const SplitOptions& options);

    GroupCore& parent_;
    Mutex mutex_;
    // How many groups have been made of the parent, by all ranks and, for each set of callers, by
    // those alone.
    uint64_t steps_ TUTTI_GUARDED_BY(mutex_) = 0;
    std::map<uint64_t, uint64_t> steps_of_some_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti
