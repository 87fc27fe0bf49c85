// The findings that the parts of a diagnosis share: waits are added first, then troubles. Any
// thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "diagnosis.hpp"
#include "waits.hpp"
#include "words.hpp"

namespace tutti::trace {

struct Findings {
    Findings(const Job& one, const Patience& how_long)
        : job(one), patience(how_long.nanoseconds), waits(one.members.size()) {}

    const Job& job;
    int64_t patience;
    Waits waits;
    bool is_wording = false;  // a first round finds who waits for whom
    std::vector<Trouble> troubles{};

    // Ranks of members, in order.
    [[nodiscard]] std::vector<int> ranks_of(const std::vector<size_t>& members) const;
    // In the first round.
    void add_waits(size_t who, const std::vector<size_t>& on, const std::string& where) {
        if (!is_wording) waits.add(who, on, where);
    }
    // In the second: sets who is at fault, and adds it.
    void add(Trouble trouble);
    [[nodiscard]] bool is_long(int64_t since) const { return job.now - since >= patience; }
};

// Whether the member waits in this call, as far as can be known: calls in the background may be for
// later, while it has one of its own.
bool waits_in(const Member& member, const Call& call);

// "rank 2 is not in it: ...; ranks 4 and 5 are not in it: ...", with `what` for "not in it".
std::string explain(const Findings& findings, const std::vector<size_t>& members,
                    const std::vector<int>& slots, const std::string& call,
                    const std::string& what);

// The parts.
void find_in_collectives(Findings& findings);
void find_in_messages(Findings& findings);
void find_in_meetings(Findings& findings);

}  // namespace tutti::trace
