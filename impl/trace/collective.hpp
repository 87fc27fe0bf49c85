// One collective of a group, as the records of its ranks have it. Any thread.
#pragma once

#include <string>
#include <vector>

#include "job.hpp"

namespace tutti::trace {

// The part of a rank in one collective.
enum class Part { Missing, Open, Failed, Done };

struct Share {
    size_t member;
    int slot;  // -1: it has no such group
    Part part = Part::Missing;
    const Call* call = nullptr;  // if it is still in the record
};

struct Collective {
    const JobGroup& group;
    uint64_t sequence;
    const Call* call = nullptr;  // of one of those in it
    std::string title{};         // "all_reduce #17 of group world"
    std::vector<Share> shares{};

    [[nodiscard]] std::vector<size_t> members(Part part) const {
        std::vector<size_t> chosen;
        for (const Share& share : shares) {
            if (share.part == part) chosen.push_back(share.member);
        }
        return chosen;
    }
};

// The first collective that the rank has not ended; a failure counts if none succeeded after it.
struct First {
    const Call* open = nullptr;
    const Call* failed = nullptr;
};

First first_of(const Job& job, const Seat& seat);

Collective collective_of(const Job& job, const JobGroup& group, uint64_t sequence);

// For each call the ranks that made it, fewest first.
std::vector<std::vector<const Share*>> kinds_of(const Collective& collective);

int64_t start_of(const Call& call);
// The earliest start of the ranks that are in it; 0: none is.
int64_t first_start(const Collective& collective);

// Whether no process of its ranks lives, and some were in it.
bool have_all_ended(const Job& job, const Collective& collective);

}  // namespace tutti::trace
