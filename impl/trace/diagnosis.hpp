// Why a job does not go on, from the records of its ranks: one sentence for each trouble, those
// first that the others follow from. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job.hpp"

namespace tutti::trace {

struct Trouble {
    std::string kind;  // "missing", "mismatch", "cycle", "message", "failed", "ended", ...
    std::string sentence;
    std::vector<int> ranks;    // at fault, in the end; none: nobody can be named
    std::vector<int> waiting;  // for them
    std::string group;
    std::string call;
    uint64_t sequence = 0;
    int64_t since = 0;          // the first rank that waits; 0: none does
    bool is_root = true;        // else it follows from another one
    std::vector<size_t> stuck;  // members, for whom the others wait directly
};

struct Patience {
    // A shorter wait is no trouble, unless it is for a rank that has ended or stopped.
    int64_t nanoseconds = 1'000'000'000;
};

std::vector<Trouble> diagnose(const Job& job, const Patience& patience = {});

// For a launcher: the sentences on the records in a folder, when the job has failed or is asked.
// Throws nothing but bad_alloc; without any record it returns nothing.
std::vector<std::string> sentences_of(const std::string& folder, const std::vector<Ending>& endings,
                                      const Patience& patience = {});

}  // namespace tutti::trace
